// An atomic request is stored as a whole or not at all, and however its zone is written.

import CumulusGateway
import CumulusModel
import CumulusTesting
import Testing

@Suite struct WebAtomicTests {
    /// Runs a test with zones of the caller's, and the two ways to write the first one.
    private func withZones(
        _ names: String...,
        body: (_ user: WebUser, _ plain: String, _ owned: String) async throws -> Void
    ) async throws {
        try await withWebUser { user, _ in
            for name in names {
                let zone =
                    #"{"operationType": "create", "zone": {"zoneID": {"zoneName": "\#(name)"}}}"#
                _ = try await user.post("private/zones/modify", #"{"operations": [\#(zone)]}"#)
            }
            let owner = try await user.name
            let plain = #"{"zoneName": "\#(names[0])"}"#
            let owned = #"{"zoneName": "\#(names[0])", "ownerRecordName": "\#(owner)"}"#
            try await body(user, plain, owned)
        }
    }

    private func note(
        _ kind: WebOperation.Kind,
        _ name: String,
        in zone: String,
        _ more: String = ""
    ) -> String {
        """
        {"operationType": "\(kind.rawValue)", "record": {"recordName": "\(name)",
         "recordType": "Note", "zoneID": \(zone)\(more)}}
        """
    }

    private func modify(
        _ user: WebUser,
        _ zone: String,
        atomic: Bool = true,
        _ operations: String...
    ) async throws -> WebUser.Answer {
        let list = operations.joined(separator: ",")
        return try await user.post(
            "private/records/modify",
            #"{"zoneID": \#(zone), "atomic": \#(atomic), "operations": [\#(list)]}"#
        )
    }

    /// The names of the records that are there, of some.
    private func found(
        _ names: [String],
        in zone: String,
        _ user: WebUser
    ) async throws -> [String] {
        let list = names.map { #"{"recordName": "\#($0)"}"# }.joined(separator: ",")
        let answer = try await user.post(
            "private/records/lookup",
            #"{"zoneID": \#(zone), "records": [\#(list)]}"#
        )
        return answer.entries("records").filter { $0.errorCode == nil }
            .compactMap { $0["recordName"]?.string }
    }

    @Test func twoSpellingsOfAZoneAreOneZone() async throws {
        try await withZones("Notes") { user, plain, owned in
            for (zone, other) in [(plain, owned), (owned, plain)] {
                let bad = #", "recordChangeTag": "00""#
                let failed = try await modify(
                    user,
                    zone,
                    note(.create, "first", in: other),
                    note(.update, "missing", in: zone, bad)
                )
                let codes = failed.entries("records").map(\.errorCode)
                #expect(codes == ["ATOMIC_ERROR", "NOT_FOUND"], "\(failed.json.text)")
                #expect(try await found(["first"], in: plain, user).isEmpty)
                let twice = try await modify(
                    user,
                    zone,
                    atomic: false,
                    note(.forceUpdate, "twice", in: zone),
                    note(.forceUpdate, "twice", in: other)
                )
                #expect(twice.status == 400)
                #expect(twice.code == "BAD_REQUEST")
            }
        }
    }

    @Test func aRecordAndItsShareAreSavedInOneRequest() async throws {
        try await withZones("Notes") { user, plain, owned in
            let saved = try await modify(user, plain, note(.create, "root", in: plain))
            let tag = try #require(saved.entries("records").first?.tag)
            let share = """
                {"operationType": "create", "record": {"recordType": "cloudkit.share",
                 "recordName": "share", "publicPermission": "READ_ONLY", "participants": [],
                 "forRecord": {"recordName": "root", "recordChangeTag": "\(tag)",
                  "zoneID": \(owned)}}}
                """
            let change = #", "recordChangeTag": "\#(tag)", "fields": {"stars": {"value": 1}}"#
            let answer = try await modify(
                user,
                plain,
                note(.update, "root", in: owned, change),
                share
            )
            let entries = answer.entries("records")
            #expect(entries.map(\.errorCode) == [nil, nil], "\(answer.json.text)")
            #expect(entries.last?["shortGUID"]?.string != nil)
        }
    }

    /// What can't be done as a whole is not begun.
    @Test func nothingIsDoneInOneZoneThatAnotherOneRefuses() async throws {
        try await withZones("From", "To") { user, from, _ in
            _ = try await modify(user, from, note(.create, "b", in: from))
            let to = #"{"zoneName": "To"}"#
            for value in [#""x""#, "1"] {
                let fields = #", "fields": {"stars": {"value": \#(value)}}"#
                let moved = try await modify(
                    user,
                    from,
                    note(.forceDelete, "b", in: from),
                    note(.create, "b", in: to, fields)
                )
                let codes = moved.entries("records").map(\.errorCode)
                #expect(codes == ["BAD_REQUEST", "BAD_REQUEST"], "\(moved.json.text)")
                #expect(try await found(["b"], in: from, user) == ["b"])
                #expect(try await found(["b"], in: to, user).isEmpty)
            }
            let single = try await modify(
                user,
                from,
                atomic: false,
                note(.forceDelete, "b", in: from),
                note(.create, "b", in: to)
            )
            #expect(single.entries("records").map(\.errorCode) == [nil, nil])
            #expect(try await found(["b"], in: to, user) == ["b"])
        }
    }

    @Test func parentsAndRootsOfOtherZonesAreRefused() async throws {
        try await withZones("Z", "Y") { user, here, owned in
            let there = #"{"zoneName": "Y"}"#
            for zone in [here, there] {
                _ = try await modify(user, zone, note(.create, "pa", in: zone))
            }
            let other = #"{"recordName": "pa", "zoneID": \#(there)}"#
            let own = #"{"recordName": "pa", "zoneID": \#(owned)}"#
            for (reference, code) in [(other, "BAD_REQUEST"), (own, nil)] as [(String, String?)] {
                let kid = try await modify(
                    user,
                    here,
                    note(.create, "kid", in: here, #", "parent": \#(reference)"#)
                )
                #expect(kid.entries("records").map(\.errorCode) == [code], "\(kid.json.text)")
                let share = try await modify(
                    user,
                    here,
                    """
                    {"operationType": "create", "record": {"recordType": "cloudkit.share",
                     "forRecord": \(reference), "publicPermission": "READ_ONLY"}}
                    """
                )
                #expect(share.entries("records").map(\.errorCode) == [code], "\(share.json.text)")
            }
        }
    }
}
