// A right that is taken while an answer is on its way: its caller gives credit for the rest only
// afterwards, and each further page asks anew.

import Cumulus
import CumulusModel
import CumulusStorage
import CumulusTesting
import CumulusWire
import Foundation
import Testing

@testable import CumulusNode

@Suite(.serialized, .timeLimit(.minutes(2))) struct LongAnswerTests {
    /// An answer has room for one message until its caller gives more credit, and a message for one
    /// record.
    private static let small = limits {
        ($0.initialCredit, $0.answerBytes, $0.pageBytes) = (1, 1_000, 1_000)
    }

    private static let names = (0..<6).map { "note-\($0)" }
    private static let text = FieldValue.string(String(repeating: "x", count: 2_000))

    private func withSmallMessages(_ body: (TestServer) async throws -> Void) async throws {
        try await withServer(limits: Self.small, body)
    }

    /// A call that has got its first message and waits for credit.
    private struct Waiting {
        let client: RawClient
        let call: Frame
        let first: Bytes

        init(
            _ endpoint: String,
            token: String = "",
            _ method: CumulusWire.Method,
            _ message: Bytes
        ) throws {
            client = try RawClient(greeting: endpoint, token: token)
            call = client.call(method, message, milliseconds: 60_000)
            try client.send(call)
            var frame = try client.nextFrame()
            while frame.stream != call.stream { frame = try client.nextFrame() }
            #expect(frame.kind == .message && !frame.isEnd, "\(method) is not long")
            first = frame.payload
        }

        /// The rest of the answer, and the error that ends it.
        func rest() throws -> (messages: [Bytes], error: ServiceError?) {
            try client.credit(16 << 20, on: call)
            var messages: [Bytes] = []
            while true {
                let frame = try client.nextFrame()
                guard frame.stream == call.stream else { continue }
                if frame.kind == .status {
                    return (messages, try ServiceError(wire: frame.payload))
                }
                messages.append(frame.payload)
                if frame.isEnd { return (messages, nil) }
            }
        }
    }

    private func saveNotes(_ pair: SharePair) async throws {
        for name in Self.names {
            var note = pair.note(name, in: pair.zone)
            note["text"] = Self.text
            try await pair.ada.privateCloudDatabase.save(note)
        }
    }

    private func list(_ pair: SharePair) -> Bytes {
        ListRecordsRequest(database: .shared, zone: pair.wireZone).encoded()
    }

    private func fetch(_ pair: SharePair) -> Bytes {
        let ids = Self.names.map { WireRecordID(name: Bytes($0.utf8), zone: pair.wireZone) }
        return FetchRecordsRequest(database: .shared, ids: ids).encoded()
    }

    // MARK: What is taken

    @Test func whoIsRemovedIsToldNoMore() async throws {
        try await withSmallMessages { server in
            try await withPair(at: server) { pair in
                try await saveNotes(pair)
                var photo = pair.note("photo", in: pair.zone)
                photo["file"] = .asset(Asset(data: Data(SampleAsset.stream(2_000_000))))
                photo = try await pair.ada.privateCloudDatabase.save(photo)
                guard case .asset(let asset)? = photo["file"] else {
                    Issue.record("\(photo) has no asset")
                    return
                }
                var download = DownloadAssetRequest(database: .shared, asset: asset.digest)
                let name = Bytes("photo".utf8)
                download.record = WireRecordID(name: name, zone: pair.wireZone)
                download.field = Bytes("file".utf8)
                func ask(
                    _ method: CumulusWire.Method,
                    _ message: Bytes
                ) throws -> Waiting {
                    try Waiting(server.endpoint, token: pair.bobToken, method, message)
                }
                let listed = try ask(.recordsList, list(pair))
                let fetched = try ask(.recordsFetch, fetch(pair))
                let downloaded = try ask(.assetsDownload, download.encoded())
                // Ada reads on: nobody takes her zone.
                let own = ListRecordsRequest(
                    database: .private,
                    zone: WireZoneID(name: pair.wireZone.name, owner: [])
                )
                let hers = try Waiting(
                    server.endpoint,
                    token: pair.adaToken,
                    .recordsList,
                    own.encoded()
                )
                try await pair.ada.privateCloudDatabase.save(try await pair.shareWithoutBob())
                let list = try listed.rest()
                #expect(list.messages.isEmpty && list.error?.code == .zoneNotFound)
                // Each item of a fetch is answered.
                let fetch = try fetched.rest()
                let codes = try fetch.messages.flatMap {
                    try FetchRecordsResponse(wire: $0).results.map { $0.refusal?.code }
                }
                #expect(fetch.error == nil && codes.count == Self.names.count - 1)
                #expect(Set(codes) == [.zoneNotFound])
                let bytes = try downloaded.rest()
                #expect(bytes.messages.isEmpty && bytes.error?.code == .assetNotAvailable)
                let all = try hers.rest()
                #expect(all.error == nil && all.messages.count >= Self.names.count)
            }
        }
    }

    /// An import that takes READ from everybody.
    @Test func whatATypeGrantsNoMoreIsToldNoMore() async throws {
        try await withSmallMessages { server in
            func grant(_ grants: String) async throws {
                try await server.importSchema(
                    """
                    DEFINE SCHEMA RECORD TYPE Note ( text STRING,
                        \(grants) GRANT CREATE TO "_icloud", GRANT WRITE TO "_creator" );
                    """
                )
            }
            try await grant(#"GRANT READ TO "_world","#)
            let token = try await server.makeUser("ada")
            let ada = try RawClient(greeting: server.endpoint, token: token)
            for name in Self.names {
                _ = try ada.save([Record(name, ["text": Self.text])], in: .public)[0].get()
            }
            let listed = try Waiting(
                server.endpoint,
                .recordsList,
                RawRequest.list(in: .public)
            )
            let fetched = try Waiting(
                server.endpoint,
                .recordsFetch,
                RawRequest.fetch(Self.names, in: .public)
            )
            try await grant("")
            let list = try listed.rest()
            let records = try list.messages.flatMap { try ListRecordsResponse(wire: $0).records }
            #expect(list.error == nil && records.isEmpty)
            let fetch = try fetched.rest()
            let codes = try fetch.messages.flatMap {
                try FetchRecordsResponse(wire: $0).results.map { $0.refusal?.code }
            }
            #expect(Set(codes) == [.permissionFailure])
        }
    }

    @Test func aSessionThatIsRevokedIsToldNoMore() async throws {
        try await withSmallMessages { server in
            let token = try await server.makeUser("ada")
            let ada = try RawClient(greeting: server.endpoint, token: token)
            for name in Self.names {
                _ = try ada.save([Record(name, ["text": Self.text])])[0].get()
            }
            let calls = try [
                (CumulusWire.Method.recordsList, RawRequest.list()),
                (.recordsFetch, RawRequest.fetch(Self.names)),
            ].map { try Waiting(server.endpoint, token: token, $0.0, $0.1) }
            #expect(try RawClient.administering(server).revoke(of: "ada"))
            for call in calls {
                let rest = try call.rest()
                #expect(rest.messages.isEmpty && rest.error?.code == .notAuthenticated)
            }
        }
    }

    // MARK: All of them

    /// A new method with an answer in parts belongs here, and in a test of what it tells once a
    /// right is taken.
    @Test func eachLongAnswerAsksAnew() {
        let expected: [CumulusWire.Method: String] = [
            .recordsFetch: "here", .recordsList: "here", .assetsDownload: "here",
            // All that it tells is made in the writer's turn.
            .recordsModify: "ShareCallTests",
            // They tell a user of its own; the session counts.
            .recordsListConflicts: "own", .accountsSessions: "own", .subscriptionsFetch: "own",
            .pushesList: "own",
            // Each page is of the newest state.
            .changesFollowDatabase: "RevocationTests", .changesFollowZone: "ShareCallTests",
            .feedsFollow: "FeedReadTests",
        ]
        let long = MethodTable.entries.filter { entry in
            entry.answer != .message && entry.needs.isDisjoint(with: [.operator, .peer])
        }
        #expect(Set(long.map(\.method)) == Set(expected.keys))
    }
}
