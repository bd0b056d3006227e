// Tests the rule of who may do what, as a function of values: every verb, role and caller.

import CumulusModel
import CumulusOperations
import CumulusTesting
import Testing

@Suite struct GrantRuleTests {
    private static let verbs: [(Authorisation.Verb, Schema.Permissions)] = [
        (.read, .read), (.create, .create), (.write, .write),
    ]
    private static let callers: [Caller] = [.anonymous, .alice, .bob, .administrator]

    private func code(
        _ verb: Authorisation.Verb,
        _ creator: String?,
        _ grants: [Schema.Grant],
        _ caller: Caller,
        with roles: Set<String> = []
    ) -> ServiceError.Code? {
        let facts = Authorisation.RecordFacts(type: "Note", createdBy: creator)
        let grants = Grants(grants)
        return Authorisation.refusal(verb, facts, granted: grants, to: caller, with: roles)?.code
    }

    /// Tests each role with each permission alone, for everybody, on a record of Alice's and on a
    /// new record.
    @Test(
        arguments: ["_world", "_icloud", "_creator", "Moderator"],
        [[], ["Moderator"], ["Editor", "Reader"]] as [Set<String>]
    )
    func aRoleGivesWhatItIsGrantedAndNothingElse(role: String, given: Set<String>) {
        for (verb, permission) in Self.verbs {
            for granted in [Schema.Permissions.read, .create, .write] {
                let grants = [Schema.Grant(role: role, permissions: granted)]
                for (caller, creator) in Self.callers.flatMap({ [($0, "_alice"), ($0, nil)] }) {
                    let has =
                        switch role {
                        case "_world": true
                        case "_icloud": !caller.user.isEmpty
                        case "_creator": !caller.user.isEmpty && caller.user == creator
                        default: !caller.user.isEmpty && given.contains(role)
                        }
                    let expected: ServiceError.Code? =
                        switch (caller.role, verb) {
                        case (.operator, .read): nil
                        case (.operator, _): .permissionFailure
                        case (.anonymous, .create), (.anonymous, .write): .notAuthenticated
                        default: has && granted == permission ? nil : .permissionFailure
                        }
                    #expect(code(verb, creator, grants, caller, with: given) == expected)
                }
            }
        }
    }

    @Test func permissionsOfAllRolesCountTogether() {
        let grants = [
            Schema.Grant(role: "_world", permissions: .read),
            Schema.Grant(role: "_icloud", permissions: .create),
            Schema.Grant(role: "_creator", permissions: .write),
        ]
        #expect(Self.verbs.map { code($0.0, "_alice", grants, .alice) } == [nil, nil, nil])
        #expect(
            Self.verbs.map { code($0.0, "_alice", grants, .bob) } == [nil, nil, .permissionFailure]
        )
    }

    @Test func aTypeWithoutGrantsCantBeUsed() {
        for (verb, _) in Self.verbs {
            #expect(code(verb, "_alice", [], .alice) == .permissionFailure)
        }
    }

    @Test func refusalsSayWhatIsNeeded() {
        func message(
            _ caller: Caller,
            _ grants: [Schema.Grant],
            with roles: Set<String> = []
        ) -> String? {
            let facts = Authorisation.RecordFacts(type: "Diary", createdBy: "_alice")
            let grants = Grants(grants)
            return Authorisation.refusal(.read, facts, granted: grants, to: caller, with: roles)?
                .message
        }
        let own = [Schema.Grant(role: "_creator", permissions: .read)]
        #expect(
            message(.bob, own)
                == """
                READ operation not permitted: type 'Diary' grants it to _creator; you have _world, \
                _icloud
                """
        )
        let both = own + [Schema.Grant(role: "Moderator", permissions: .read)]
        #expect(
            message(.bob, both, with: ["Writer", "Editor"])
                == """
                READ operation not permitted: type 'Diary' grants it to Moderator, _creator; you \
                have _world, _icloud, Editor, Writer
                """
        )
        #expect(message(.anonymous, own)?.hasSuffix("; connect with an access token") == true)
        #expect(message(.alice, [])?.contains("grants it to no role; import a schema") == true)
    }
}
