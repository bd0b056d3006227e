// Tests the rule by which a participant may do something with a record, without a store.

import CumulusModel
import CumulusOperations
import Testing

@Suite struct ShareRuleTests {
    private typealias View = AccessRights.View
    private typealias Facts = Authorisation.SharedFacts

    private func tree(
        _ root: String,
        _ permission: ShareParticipant.Permission
    ) -> View.Tree {
        View.Tree(
            share: "share-\(root)",
            root: root,
            birth: Dot(Incarnation(1), 1),
            permission: permission
        )
    }

    private func codes(_ facts: Facts, _ view: View) -> [ServiceError.Code?] {
        [Authorisation.Verb.read, .create, .write, .delete].map { verb in
            Authorisation.refusal(verb, facts, view)?.code
        }
    }

    private let missing: ServiceError.Code? = .unknownItem
    private let no: ServiceError.Code? = .permissionFailure

    @Test func aWriterOfATreeDoesEverythingInsideIt() {
        let view = View(trees: [tree("r", .readWrite)])
        let inside = Facts(name: "a", type: "Note", roots: ["r"])
        #expect(codes(inside, view) == [nil, nil, nil, nil])
    }

    @Test func whatIsOutsideDoesNotExist() {
        let view = View(trees: [tree("r", .readWrite)])
        #expect(codes(Facts(name: "a", type: "Note"), view) == [missing, no, missing, missing])
        let other = Facts(name: "a", type: "Note", roots: ["x"])
        #expect(codes(other, view) == [missing, no, missing, missing])
    }

    @Test func aReaderReads() {
        let view = View(trees: [tree("r", .readOnly)])
        let inside = Facts(name: "a", type: "Note", roots: ["r"])
        #expect(codes(inside, view) == [nil, no, no, no])
        #expect(codes(inside, View(wholeZone: .readOnly)) == [nil, no, no, no])
    }

    /// If several shares apply, the highest permission counts.
    @Test func rightsAreTheUnion() {
        let view = View(trees: [tree("p", .readOnly), tree("r", .readWrite)])
        let both = Facts(name: "a", type: "Note", roots: ["p", "r"])
        #expect(codes(both, view) == [nil, nil, nil, nil])
        let one = Facts(name: "a", type: "Note", roots: ["p"])
        #expect(codes(one, view) == [nil, no, no, no])
        let zone = View(wholeZone: .readOnly, trees: [tree("r", .readWrite)])
        #expect(codes(Facts(name: "a", type: "Note", roots: ["r"]), zone) == [nil, nil, nil, nil])
        #expect(codes(Facts(name: "b", type: "Note"), zone) == [nil, no, no, no])
    }

    /// A root's fields are changed like the fields of any record.
    @Test func aRootIsNotDeleted() {
        let view = View(trees: [tree("r", .readWrite)])
        let root = Facts(name: "r", type: "Note", roots: ["r"], isRoot: true)
        #expect(codes(root, view) == [nil, nil, nil, no])
        let zone = View(wholeZone: .readWrite)
        #expect(codes(Facts(name: "r", type: "Note", isRoot: true), zone) == [nil, nil, nil, no])
    }

    @Test func aShareIsItsAdministrators() {
        let share = Facts(name: "share-r", type: Names.shareType, roots: ["r"])
        var view = View(trees: [tree("r", .readWrite)])
        #expect(codes(share, view) == [nil, no, no, no])
        let refusal = Authorisation.refusal(.write, share, view)
        #expect(refusal?.message.contains("only the share's owner and administrators") == true)
        view.administers = ["share-r"]
        #expect(codes(share, view) == [nil, no, nil, no])
        view = View(trees: [tree("r", .readOnly)], administers: ["share-r"])
        #expect(codes(share, view) == [nil, no, nil, no])
    }
}
