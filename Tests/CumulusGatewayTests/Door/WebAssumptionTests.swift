// What records/modify saves with no look-up before has the outcome that it has with one.

import CumulusGateway
import CumulusModel
import CumulusTesting
import Testing

@Suite struct WebAssumptionTests {
    private let stars = #""stars": {"value": 1}"#

    private func made(_ name: String, _ user: WebUser) async throws -> JSON {
        let title = #""title": {"value": "Milk"}"#
        return try await user.modify("private", operation(.create, name, type: "Note", title))[0]
    }

    /// The type counts only for a record that is not there.
    @Test func aWrongTypeDoesNotCount() async throws {
        try await withWebUser { user, server in
            try await server.importSchema(WebUser.schema + "\nRECORD TYPE Other (stars INT64);")
            for kind in [WebOperation.Kind.update, .forceUpdate, .replace, .forceReplace] {
                let name = kind.rawValue
                let tag = try await made(name, user).tag
                let change = operation(kind, name, tag: tag, type: "Other", stars)
                let entry = try await user.modify("private", change)[0]
                #expect(entry.errorCode == nil, "\(entry.text)")
                #expect(entry["recordType"] == "Note")
                #expect(entry.field("stars") == .integer(1))
                let isReplace = kind == .replace || kind == .forceReplace
                #expect((entry.field("title") == nil) == isReplace, "\(entry.text)")
            }
        }
    }

    /// Tags are compared as texts.
    @Test func anotherSpellingOfATagIsAnotherTag() async throws {
        try await withWebUser { user, _ in
            for kind in [WebOperation.Kind.update, .delete] {
                let tag = try #require(try await made("a", user).tag)
                for other in ["", tag + "00", tag + " ", "zz", tag.uppercased()] where other != tag
                {
                    let change = operation(kind, "a", tag: other, type: "Note", stars)
                    let code = try await user.modify("private", change)[0].errorCode
                    #expect(code == "CONFLICT", "\(kind) \(other)")
                    let missing = operation(kind, "none", tag: other, type: "Note", stars)
                    let gone = try await user.modify("private", missing)[0].errorCode
                    #expect(gone == "NOT_FOUND", "\(kind) \(other)")
                }
                let change = operation(kind, "a", tag: tag, type: "Note", stars)
                #expect(try await user.modify("private", change)[0].errorCode == nil)
                _ = try await user.modify("private", operation(.forceDelete, "a"))
            }
        }
    }

    /// Some operations of a request are done at once, and the others after a look-up.
    @Test func eachOperationHasItsOwnOutcome() async throws {
        try await withWebUser { user, _ in
            let tag = try await made("a", user).tag
            let stale = try await made("b", user).tag
            _ = try await user.modify("private", operation(.forceUpdate, "b", type: "Note", stars))
            let entries = try await user.modify(
                "private",
                operation(.update, "a", tag: tag, type: "Note", stars),
                operation(.update, "b", tag: stale, type: "Note", stars),
                operation(.update, "none", tag: stale, type: "Note", stars),
                operation(.create, "c", type: "Note", stars)
            )
            #expect(entries.map(\.errorCode) == [nil, "CONFLICT", "NOT_FOUND", nil])
            #expect(entries[0].field("title") == "Milk")
            #expect(entries[3]["fields"] == ["stars": ["value": .integer(1), "type": "INT64"]])
            let found = try await user.post(
                "private/records/lookup",
                #"{"records": [{"recordName": "a"}, {"recordName": "c"}]}"#
            )
            #expect(found.entries("records") == [entries[0], entries[3]])
        }
    }

    /// A forced operation needs the right to read what it changes.
    @Test func whatCanNotBeReadIsNotForced() async throws {
        let box = """
            RECORD TYPE Box (
                stars INT64, GRANT READ TO "_creator", GRANT CREATE TO "_icloud",
                GRANT WRITE TO "_icloud"
            );
            """
        try await withWebUser { user, server in
            try await server.importSchema(WebUser.schema + "\n" + box)
            let other = try await WebUser.make("other", user.gateway, user.door, server)
            let first = operation(.create, "a", type: "Box", stars)
            let tag = try #require(try await user.modify("public", first)[0].tag)
            for kind in [WebOperation.Kind.update, .forceUpdate, .replace, .forceReplace] {
                let change = operation(kind, "a", tag: tag, type: "Box", stars)
                let code = try await other.modify("public", change)[0].errorCode
                #expect(code == "ACCESS_DENIED", "\(kind)")
            }
            let kept = try await user.post(
                "public/records/lookup",
                #"{"records": [{"recordName": "a"}]}"#
            )
            #expect(kept.entries("records").first?.tag == tag)
            let own = operation(.forceReplace, "a", type: "Box", #""stars": {"value": 2}"#)
            #expect(try await user.modify("public", own)[0].field("stars") == .integer(2))
        }
    }
}
