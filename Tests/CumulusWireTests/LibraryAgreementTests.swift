// Our coders held to libprotobuf-c: golden messages, whole and damaged, are read alike.

import CumulusModel
import CumulusTesting
import CumulusWire
import Testing

@Suite struct LibraryAgreementTests {
    private static let known = Result {
        try Golden.all().filter { WireMessages.all[$0.message] != nil }
    }

    @Test func everyMessageIsKnown() throws {
        let without = Set(try Golden.all().map(\.message)).subtracting(WireMessages.all.keys)
        // Commits are the storage's; what has no fields isn't read.
        #expect(
            without == [
                "Commit", "Frame", "LeaveRequest", "LeaveResponse", "ListConflictsRequest",
                "ListContainersRequest", "ListKeysRequest", "ListMembersRequest",
                "ListMergePoliciesRequest", "ListOperatorsRequest", "ListWebAppsRequest",
                "MarkReadResponse", "MetricsRequest", "NodeStatusRequest", "Preface",
                "PushServicesRequest", "ReadSchemaRequest", "RemoveOperatorResponse",
                "ReportResponse", "SetPasswordResponse", "WantedAssetsRequest", "WhoAmIRequest",
                "ZoneStatusRequest",
            ]
        )
    }

    @Test(arguments: try known.get())
    func ourTypesReadAndWriteThem(golden: Golden) throws {
        let recode = try #require(WireMessages.all[golden.message])
        #expect(try recode(golden.bytes).hex == golden.bytes.hex)
        if let request = WireMessages.requests[golden.message] {
            #expect(try request.byTheLibrary(golden.bytes).hex == golden.bytes.hex)
        }
    }

    /// What the library takes for a message we take for the same one; and what it refuses, we
    /// refuse.
    @Test(arguments: try known.get())
    func damagedMessagesAreReadAlike(golden: Golden) throws {
        let recode = try #require(WireMessages.all[golden.message])
        let repack = try Self.repack(golden.message)
        let isLenient = try Self.isLenient(golden.message)
        for bytes in try Self.damaged(golden.bytes) {
            let ours = try? recode(bytes)
            if let theirs = repack(bytes) {
                // It takes the number 0 in two bytes, but not in the one in which it writes it.
                if repack(theirs) == nil { continue }
                let expected = try? recode(theirs)
                #expect(ours?.hex == expected?.hex, "\(bytes.hex)")
            } else if !isLenient {
                #expect(ours == nil, "\(bytes.hex)")
            }
        }
    }

    /// What a node makes of a request, the tolerant reader does too.
    @Test(arguments: try known.get().filter { WireMessages.requests[$0.message] != nil })
    func damagedRequestsAreReadAlike(golden: Golden) throws {
        let request = try #require(WireMessages.requests[golden.message])
        var taken = 0
        for bytes in try Self.damaged(golden.bytes) {
            guard let theirs = try? request.byTheLibrary(bytes) else { continue }
            taken += 1
            let ours = try request.byUs(bytes)
            #expect(ours.hex == theirs.hex, "\(bytes.hex)")
        }
        #expect(taken > 0)
    }

    // MARK: Damage

    /// Messages with changed bytes, and with their fields in another order, doubled and left out.
    private static func damaged(_ bytes: Bytes) throws -> [Bytes] {
        var dice = SeededGenerator(seed: 5)
        let changed = (0..<400).map { _ in
            var changed = bytes
            for _ in 0..<Int.random(in: 1...3, using: &dice) where !changed.isEmpty {
                let index = Int.random(in: 0..<changed.count, using: &dice)
                changed[index] = .random(in: 0...255, using: &dice)
            }
            return changed
        }
        let mutated = (0..<200).map { _ in Damage.mutation(of: bytes, using: &dice) }
        let mixed = try (0..<100).map { _ in try self.mixed(bytes, depth: 3, &dice) }
        return Damage.truncations(of: bytes) + changed + mutated + mixed
    }

    /// The message with its fields, and the fields of its parts, in another order.
    ///
    /// Some stand there twice, or not at all.
    private static func mixed(
        _ bytes: Bytes,
        depth: Int,
        _ dice: inout SeededGenerator
    ) throws -> Bytes {
        var fields: [Bytes] = []
        var reader = CanonicalReader(bytes)
        while true {
            let start = reader.position
            guard let (number, type) = try? reader.nextField() else { break }
            let head = reader.position
            guard (try? reader.skip(type)) != nil else { return bytes }
            var field = Bytes(bytes[start..<reader.position])
            if type == .delimited, depth > 0, Bool.random(using: &dice) {
                var content = CanonicalReader(bytes, head..<reader.position)
                let inner = try content.delimitedBytes()
                var writer = CanonicalWriter()
                writer.present(number, bytes: try mixed(inner, depth: depth - 1, &dice))
                field = writer.bytes
            }
            let copies = [0, 1, 1, 1, 1, 2].randomElement(using: &dice) ?? 1
            for _ in 0..<copies { fields.append(field) }
        }
        return Bytes(fields.shuffled(using: &dice).joined())
    }

    // MARK: What to expect

    /// The library's reading of a message; the node leaves the fields of a save alone.
    private static func repack(_ message: String) throws -> LibraryCodec.Repack {
        try #require(
            message == "ModifyRecordsRequest"
                ? LibraryCodec.nodeModifyRecordsRequest : LibraryCodec.messages[message]
        )
    }

    /// Whether we may take what the library refuses.
    ///
    /// We look at the last member of a choice only; and a greeting has a field that no client
    /// needs.
    private static func isLenient(_ message: String) throws -> Bool {
        try hasChoice.get()[message] ?? false || message == "ServerHello"
    }

    private static let files = [
        "accounts", "assets", "changes", "connection", "feeds", "indexes", "node", "operator",
        "peers", "queries", "records", "roles", "schema", "sharing", "subscriptions", "zones",
    ]

    /// Per message, whether it or a part of it has a `oneof`.
    private static let hasChoice = Result {
        var blocks: [String: Substring] = [:]
        for file in files {
            for block in try Golden.text("\(file).proto").split(separator: "\n}") {
                guard let head = block.matches(of: /message (\w+) \{/).first else { continue }
                blocks[String(head.output.1)] = block[head.range.upperBound...]
            }
        }
        func hasChoice(_ name: String) -> Bool {
            guard let block = blocks[name] else { return false }
            return block.contains("oneof")
                || block.matches(of: /(\w+) \w+ = \d+;/).contains { hasChoice(String($0.output.1)) }
        }
        return Dictionary(uniqueKeysWithValues: blocks.keys.map { ($0, hasChoice($0)) })
    }
}
