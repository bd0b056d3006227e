// Calls by values tell a caller in the node's own process what calls in frames tell it.

import CumulusModel
import CumulusTesting
import CumulusWire
import Foundation
import Synchronization
import Testing

@testable import CumulusNode

@Suite struct LocalRecordsTests {
    private func withCaller(_ body: (LocalConnection) async throws -> Void) async throws {
        try await withServer { server in
            let connection = try await server.enter(as: try await server.makeUser("ada"))
            try await body(connection)
            connection.close()
        }
    }

    @Test func aLookUpTellsWhatFramesTell() async throws {
        try await withCaller { connection in
            #expect(connection.reached == nil)
            let message = LocalCalls.save(["a", "b"])
            let saved = try await connection.modify(.init(.recordsModify), message)
            #expect(saved.saves.count == 2 && saved.deletes.isEmpty)
            #expect(connection.reached != nil)
            let request = LocalCalls.ids(["b", "none", "a"])
            let values = try await connection.fetch(.init(.recordsFetch), request)
            let frames = try await connection.call(.init(.recordsFetch), request.encoded())
                .flatMap { try FetchRecordsResponse(wire: $0).results }
            #expect(values.count == 3 && frames.count == 3)
            #expect(values[1].refusal?.code == .unknownItem)
            #expect(values[1].refusal.map(ToldError.init) == frames[1].refusal.map(ToldError.init))
            for place in [0, 2] {
                let (value, frame) = (try values[place].get(), try frames[place].get())
                #expect(value == frame)
                #expect(value.creatorUserRecordName == frame.creatorUserRecordName)
                #expect(value.lastModifiedUserRecordName == frame.lastModifiedUserRecordName)
                #expect(value.creationDate == frame.creationDate)
                #expect(value.modificationDate == frame.modificationDate)
            }
            #expect(try values[2].get()["text"] == .string("some text"))
            #expect(try saved.saves[0].get().recordChangeTag == values[2].get().recordChangeTag)
        }
    }

    /// An answer has several parts, and more bytes than a call has credit from the beginning.
    @Test func aLongLookUpComesWholeAndInOrder() async throws {
        try await withCaller { connection in
            let names = (0..<60).map { "n\($0)" }
            let text = String(repeating: "x", count: 40_000)
            for start in stride(from: 0, to: 60, by: 30) {
                let message = LocalCalls.save(Array(names[start..<start + 30]), text: text)
                _ = try await connection.modify(.init(.recordsModify), message)
            }
            let request = LocalCalls.ids(names.reversed())
            let values = try await connection.fetch(.init(.recordsFetch), request)
            let found = try values.map { try $0.get() }
            #expect(found.map(\.recordID.recordName) == names.reversed())
            #expect(found.allSatisfy { $0["text"] == .string(text) })
            let parts = try await connection.call(.init(.recordsFetch), request.encoded())
            #expect(parts.count > 1)
        }
    }

    @Test func aSaveThatComesTooLateBringsTheRecord() async throws {
        try await withCaller { connection in
            _ = try await connection.modify(.init(.recordsModify), LocalCalls.save(["a"]))
            let late = LocalCalls.save(["a", "c"], deleting: ["none"])
            let values = try await connection.modify(.init(.recordsModify), late)
            let stored = try await connection.fetch(.init(.recordsFetch), LocalCalls.ids(["a"]))
            #expect(values.saves.first?.refusal?.code == .serverRecordChanged)
            #expect(try values.saves.first?.refusal?.serverRecord == stored[0].get())
            #expect(try values.saves.last?.get().recordID.recordName == "c")
            #expect(values.deletes.count == 1)
            let frames = try await connection.change(.init(.recordsModify), late)
            let framed = try ModifyRecordsResponse(wire: try #require(frames.first))
            let (value, frame) = (values.saves.first?.refusal, framed.saves.first?.refusal)
            #expect(value.map(ToldError.init) == frame.map(ToldError.init))
            #expect(value?.serverRecord == frame?.serverRecord)
            #expect(framed.deletes.map { $0?.code } == values.deletes.map { $0?.code })
        }
    }

    /// The cursor of a page leads on at either door.
    @Test func aQueryTellsWhatFramesTell() async throws {
        try await withCaller { connection in
            let message = LocalCalls.save(["a", "b", "c"])
            _ = try await connection.modify(.init(.recordsModify), message)
            let query = Query(
                recordType: "Note",
                predicate: Query.Predicate(nodes: [
                    .comparison(Query.Comparison("text", .equals, [.value("some text")]))
                ])
            )
            var request = QueryRecordsRequest(query, database: .private, zone: nil)
            request.limit = 2
            let values = try await connection.query(.init(.recordsQuery), request)
            let messages = try await connection.call(.init(.recordsQuery), request.encoded())
            let frames = try QueryRecordsResponse(wire: try #require(messages.first))
            #expect(values.records == frames.records)
            #expect(values.records.count == 2)
            #expect(values.count == frames.count)
            #expect(values.work == nil)
            #expect(!values.cursor.isEmpty)
            var counting = request
            counting.counts = true
            #expect(try await connection.query(.init(.recordsQuery), counting).count == 3)
            request.cursor = frames.cursor
            let rest = try await connection.query(.init(.recordsQuery), request)
            #expect(rest.records.map(\.recordID.recordName) == ["c"])
            #expect(rest.cursor.isEmpty)
        }
    }

    /// A call is refused as a whole, and another one because of an item.
    @Test func theAuditLogHasTheSameLines() async throws {
        let lines = Mutex<[Bytes]>([])
        let server = try await TestServer(audit: { line in lines.withLock { $0.append(line) } })
        do {
            let ada = try await server.enter(as: try await server.makeUser("ada"))
            let bob = try await server.enter(as: try await server.makeUser("bob"))
            let stranger = try await server.enter(as: nil)
            let message = LocalCalls.save(["note"], in: .public)
            _ = try await ada.modify(.init(.recordsModify), message)
            lines.withLock { $0 = [] }
            let refused = try await bob.modify(.init(.recordsModify), message)
            #expect(refused.saves.first?.refusal?.code == .permissionFailure)
            let whole = await toldError {
                _ = try await stranger.modify(.init(.recordsModify), message)
            }
            #expect(whole?.code == .notAuthenticated)
            let values = try lines.withLock { try take(&$0) }
            _ = try await bob.change(.init(.recordsModify), message)
            _ = await toldError { _ = try await stranger.change(.init(.recordsModify), message) }
            let frames = try lines.withLock { try take(&$0) }
            #expect(values.count == 2)
            #expect(values == frames)
            for connection in [ada, bob, stranger] { connection.close() }
        } catch {
            try await server.stop()
            throw error
        }
        try await server.stop()
    }

    private struct Line: Decodable, Equatable {
        var caller: String
        var id: String?
        var method: String
        var container: String?
        var target: String?
        var code: UInt32
    }

    private func take(_ lines: inout [Bytes]) throws -> [Line] {
        defer { lines = [] }
        return try lines.map { try JSONDecoder().decode(Line.self, from: Data($0)) }
    }

    @Test func aClosedConnectionTakesNoCalls() async throws {
        try await withCaller { connection in
            connection.close()
            let error = await toldError {
                _ = try await connection.fetch(.init(.recordsFetch), LocalCalls.ids(["a"]))
            }
            #expect(error?.code == .operationCancelled)
        }
    }
}
