// What a save of a share means over what is stored, without a node.

import CumulusGateway
import CumulusModel
import Testing

@Suite struct WebShareRequestTests {
    private func request(_ text: String) throws -> WebShareRequest {
        try WebShareRequest(
            try WebObject(try JSONReader.read(Bytes("{\(text)}".utf8))),
            for: "_1"
        )
    }

    private let stored = ShareDetails(
        root: "a",
        publicPermission: .readOnly,
        participants: [
            .init(id: [1, 2], user: "_ben", role: .administrator, permission: .readWrite),
            .init(id: [3], handle: .init(kind: 1, text: "c@example.org"), status: .accepted),
        ]
    )

    @Test func whatIsLeftOutStays() throws {
        let empty = try request("")
        #expect(empty.isEmpty)
        let same = try empty.details(over: stored)
        #expect(same.publicPermission == .readOnly)
        #expect(same.participants == stored.participants)
        let open = try request(#""publicPermission": "READ_WRITE""#).details(over: stored)
        #expect(open.publicPermission == .readWrite)
        #expect(open.participants == stored.participants)
        #expect(open.root == "a")
        let new = try request(#""forRecord": {"recordName": "r", "recordChangeTag": "1g"}"#)
        #expect(new.root == "r")
        #expect(new.rootTag == "1g")
        #expect(try new.details(over: nil) == ShareDetails(root: "r"))
        #expect(try request(#""participants": []"#).details(over: stored).participants.isEmpty)
    }

    @Test func participantsAreNamedInFourWays() throws {
        let list = try request(
            """
            "participants": [
             {"participantId": "0102", "permission": "READ_ONLY"},
             {"userIdentity": {"lookupInfo": {"emailAddress": "c@example.org"}}, "type": "UNKNOWN"},
             {"userIdentity": {"lookupInfo": {"phoneNumber": "+47123"}}, "type": "ADMINISTRATOR",
              "permission": "READ_WRITE", "acceptanceStatus": "PENDING"},
             {"userIdentity": {"userRecordName": "_dora"}, "type": "PRIVATE_USER"},
             {"participantId": "09", "type": "OWNER"},
             {"participantId": "08", "acceptanceStatus": "REMOVED"}]
            """
        ).details(over: stored).participants
        #expect(
            list == [
                .init(id: [1, 2], role: .administrator, permission: .readOnly),
                .init(handle: .init(kind: 1, text: "c@example.org")),
                .init(
                    handle: .init(kind: 2, text: "+47123"),
                    role: .administrator,
                    permission: .readWrite
                ),
                .init(user: "_dora"),
            ]
        )
    }

    /// A participant who is missing from the list is removed: omitting an entry would remove its
    /// user.
    @Test func theOwnerStaysTheSame() throws {
        func list(_ entry: String) throws -> [ShareDetails.Participant] {
            try request(#""participants": [\#(entry)]"#).details(over: stored).participants
        }
        for user in ["_1", "_defaultOwner"] {
            let identity = #"{"userRecordName": "\#(user)"}"#
            #expect(try list(#"{"type": "OWNER", "userIdentity": \#(identity)}"#).isEmpty)
        }
        #expect(try list(#"{"type": "OWNER"}"#).isEmpty)
        for other in [
            #""participantId": "0102""#, #""userIdentity": {"userRecordName": "_ben"}"#,
            #""userIdentity": {"userRecordName": "_dora"}"#,
            #""userIdentity": {"lookupInfo": {"emailAddress": "c@example.org"}}"#,
        ] {
            #expect(throws: WebError.self) { try list(#"{"type": "OWNER", \#(other)}"#) }
        }
    }

    @Test(arguments: [
        #""publicPermission": "ALL""#, #""participants": {}"#, #""participants": [{}]"#,
        #""participants": [{"participantId": "xy"}]"#,
        #""participants": [{"participantId": "01", "type": "BOSS"}]"#,
        #""participants": [{"participantId": "01", "permission": "ALL"}]"#, #""forRecord": {}"#,
        #""participants": [{"participantId": "01", "acceptanceStatus": "MAYBE"}]"#,
        """
        "participants": [{"userIdentity": {"userRecordName": "_a",
         "lookupInfo": {"userRecordName": "_b"}}}]
        """,
        """
        "participants": [{"userIdentity": {"lookupInfo": {"emailAddress": "c@example.org",
         "phoneNumber": "+47123"}}}]
        """,
    ])
    func whatMeansNothingIsRefused(_ text: String) {
        #expect(throws: WebError.self) { try request(text) }
    }

    /// A new share goes with its root, which the request only names.
    @Test func theRootGoesWithTheShare() throws {
        let zone = RecordZone.ID(zoneName: "Trips")
        let rootID = Record.ID(recordName: "a", zoneID: zone)
        func plan(_ operations: String, hasRoot: Bool = true) throws -> WebModify.Plan {
            let text = #"{"zoneID": {"zoneName": "Trips"}, "operations": [\#(operations)]}"#
            let request = try WebObject(try JSONReader.read(text.utf8))
            let modify = try WebModify(request, for: "_1") { "made" }
            let all = Array(modify.operations.indices)
            var root = Record(recordType: "Note", recordID: rootID)
            root.recordChangeTag = "aa"
            let missing = ServiceError(.unknownItem, "Record not found")
            var stored: [Record.ID: Result<Record, ServiceError>] = [:]
            for id in modify.needed(all) {
                stored[id] = id == rootID && hasRoot ? .success(root) : .failure(missing)
            }
            return modify.plan(
                all,
                WebModify.Knowledge(
                    stored: stored,
                    columns: ["Note": [:]],
                    user: "_1",
                    database: .private
                )
            )
        }
        let share = """
            {"operationType": "create", "record": {"recordName": "s",
             "recordType": "cloudkit.share", "forRecord": {"recordName": "a"}}}
            """
        let alone = try plan(share)
        #expect(alone.saves.map(\.record.recordID.recordName) == ["a", "s"])
        #expect(alone.saves.map(\.isRoot) == [true, false])
        #expect(alone.saves[0].record.recordChangeTag == "aa")
        #expect(alone.saves[0].record.changedKeys().isEmpty)
        #expect(alone.saves[1].record.shareDetails == ShareDetails(root: "a"))
        let tagged = share.replacing(
            #"{"recordName": "a"}"#,
            with: #"{"recordName": "a", "recordChangeTag": "bb"}"#
        )
        #expect(try plan(tagged).failures[0]?.code == .conflict)
        let create = """
            {"operationType": "create", "record": {"recordName": "a", "recordType": "Note"}}
            """
        let both = try plan("\(share), \(create)", hasRoot: false)
        #expect(both.saves.map(\.isRoot) == [false, false])
        #expect(both.failures.isEmpty)
        #expect(try plan(share, hasRoot: false).failures[0]?.code == .notFound)
        // The tag in 'forRecord' counts too where the request saves the root.
        let update = #"{"operationType": "forceUpdate", "record": {"recordName": "a"}}"#
        #expect(try plan("\(update), \(tagged)").failures[1]?.code == .conflict)
        #expect(try plan("\(update), \(share)").failures.isEmpty)
        #expect(try plan("\(tagged), \(create)", hasRoot: false).failures[0]?.code == .conflict)
    }

    @Test func theRootIsTheOneThatIsNamed() throws {
        func code(_ name: String, root: String, of stored: String? = nil) throws -> WebError.Code? {
            let text = """
                {"zoneID": {"zoneName": "Trips"}, "operations": [{"operationType": "forceUpdate",
                 "record": {"recordName": "\(name)", "recordType": "cloudkit.share",
                  "forRecord": \(root)}}]}
                """
            let request = try WebObject(try JSONReader.read(text.utf8))
            let modify = try WebModify(request, for: "_1") { "made" }
            var known: [Record.ID: Result<Record, ServiceError>] = [:]
            for id in modify.needed([0]) {
                let isShare = id.recordName == name
                let type = isShare ? Names.shareType : "Note"
                var record = Record(recordType: type, recordID: id)
                record.recordChangeTag = "aa"
                if isShare { record.shareDetails = stored.map { ShareDetails(root: $0) } }
                let isThere = !isShare || stored != nil
                let missing = ServiceError(.unknownItem, "Record not found")
                known[id] = isThere ? .success(record) : .failure(missing)
            }
            let knowledge = WebModify.Knowledge(
                stored: known,
                columns: ["Note": [:]],
                user: "_1",
                database: .private
            )
            return modify.plan([0], knowledge).failures[0]?.code
        }
        let own = #"{"recordName": "a", "zoneID": {"zoneName": "Trips", "ownerRecordName": "_1"}}"#
        #expect(try code("s", root: own) == nil)
        #expect(try code("s", root: own, of: "a") == nil)
        #expect(try code("s", root: own, of: "b") == .badRequest)
        #expect(try code(Names.zoneShare, root: own) == .badRequest)
        let other = #"{"recordName": "a", "zoneID": {"zoneName": "Other"}}"#
        #expect(try code("s", root: other) == .badRequest)
    }
}
