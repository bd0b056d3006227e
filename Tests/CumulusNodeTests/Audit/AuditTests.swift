// The audit log on a node with real sockets: which calls become lines and which never do, and how
// lines of one caller are sampled.

import Cumulus
import CumulusModel
import CumulusOperations
import CumulusTesting
import CumulusWire
import Foundation
import Synchronization
import Testing

@testable import CumulusNode

@Suite(.serialized) struct AuditTests {
    /// What a node keeps.
    private final class Lines: Sendable {
        private let all = Mutex<[[UInt8]]>([])

        func keep(_ line: [UInt8]) { all.withLock { $0.append(line) } }

        var text: String {
            all.withLock { String(decoding: $0.joined(), as: UTF8.self) }
        }

        /// The lines since the last time.
        func take() throws -> [Line] {
            try all.withLock { lines in
                defer { lines = [] }
                return try lines.map { try JSONDecoder().decode(Line.self, from: Data($0)) }
            }
        }
    }

    private struct Line: Decodable, Equatable {
        var time: Int64
        var caller: String
        var id: String?
        var address: String?
        var method: String
        var container: String?
        var target: String?
        var code: UInt32
        var epoch: UInt64
        var leftOut: Int?

        /// The parts that most tests look at.
        var short: String { "\(caller) \(method) \(target ?? "-") \(code)" }
    }

    private func withServer(_ body: (TestServer, Lines) async throws -> Void) async throws {
        let lines = Lines()
        let server = try await TestServer(
            pushOffers: { _ in [PushOffer(service: .fcm)] },
            audit: { lines.keep($0) }
        )
        do {
            try await body(server, lines)
        } catch {
            try await server.stop()
            throw error
        }
        try await server.stop()
    }

    @Test func signInsAndOperatorsActsAreLines() async throws {
        try await withServer { server, lines in
            _ = try await server.makeUser("ada")
            let admin = try RawClient.administering(server)
            try admin.setPassword("a good password", of: "ada")
            _ = try lines.take()
            let stranger = try RawClient(greeting: server.endpoint)
            _ = try error { _ = try stranger.signIn("ada", "a bad password") }
            let opened = try stranger.signIn("ada", "a good password")
            #expect(
                try lines.take().map(\.short) == [
                    "anonymous ACCOUNTS_SIGN_IN ada 9", "anonymous ACCOUNTS_SIGN_IN ada 0",
                ]
            )
            let token = String(decoding: opened.token, as: UTF8.self)
            let ada = try RawClient(greeting: server.endpoint, token: token)
            try admin.setDisabled(true, "ada")
            _ = try error { _ = try ada.fetch("note") }
            _ = try error { try admin.setDisabled(true, "eve") }
            let found = try lines.take()
            #expect(
                found.map(\.short) == [
                    "operator OPERATOR_SET_USER_STATE ada: disabled 0", "user RECORDS_FETCH - 9",
                    "operator OPERATOR_SET_USER_STATE eve: disabled 11",
                ]
            )
            #expect(found.allSatisfy { $0.address == "127.0.0.1" && $0.time > 1_700_000_000_000 })
            // The caller was judged before it was disabled.
            #expect(found[0].epoch > found[1].epoch)
            #expect(found[1].id?.count == 32 && found[1].container == TestServer.container)
        }
    }

    /// Refused changes are lines too; reads are not.
    @Test func changesOfSharesAreLines() async throws {
        try await withServer { server, lines in
            let ada = server.container(token: try await server.makeUser("ada"))
            let bob = server.container(token: try await server.makeUser("bob"))
            let eve = server.container(token: try await server.makeUser("eve"))
            let owner = try await ada.userRecordID().recordName
            let user = try await bob.userRecordID()
            let zone = RecordZone.ID(zoneName: "Trips")
            let shared = RecordZone.ID(zoneName: "Trips", ownerName: owner)
            let mine = ada.privateCloudDatabase
            try await mine.save(RecordZone(zoneID: zone))
            _ = try lines.take()
            var share = Share(recordZoneID: zone)
            share.title = "a private matter"
            share.addParticipant(Share.Participant(userRecordID: user, permission: .readWrite))
            share = try await mine.save(share)
            let url = try #require(share.url)
            _ = try await bob.shareMetadata(for: url)
            try await bob.accept(url)
            await #expect(throws: ServiceError.self) { try await eve.accept(url) }
            await #expect(throws: ServiceError.self) { _ = try await eve.shareMetadata(for: url) }
            let made = try #require(URL(string: "cumulus:/share/AAAAAAAAAAAAAAAAAAAAAA"))
            await #expect(throws: ServiceError.self) { try await eve.accept(made) }
            // It is shared already.
            let second = Share(recordZoneID: zone)
            await #expect(throws: ServiceError.self) { try await mine.save(second) }
            let left = eve.sharedCloudDatabase
            await #expect(throws: ServiceError.self) {
                try await left.deleteRecordZone(withID: shared)
            }
            try await bob.sharedCloudDatabase.deleteRecordZone(withID: shared)
            try await mine.deleteRecord(withID: share.recordID)
            // It leads to nothing any more, and the log knows to what it led.
            await #expect(throws: ServiceError.self) { try await bob.accept(url) }
            try await mine.save(Share(recordZoneID: zone))
            try await mine.deleteRecordZone(withID: zone)
            // This one is not shared.
            try await mine.save(RecordZone(zoneID: zone))
            try await mine.deleteRecordZone(withID: zone)
            let name = "Trips/\(Share.zoneWideRecordName)"
            let found = try lines.take()
            let refusals = [ServiceError.Code.serverRecordChanged, .zoneNotFound].map(\.rawValue)
            #expect(
                found.map(\.short) == [
                    "user RECORDS_MODIFY private/\(name) 0",
                    "user SHARING_ACCEPT shared/\(owner)/\(name) 0",
                    "user SHARING_ACCEPT shared/\(owner)/\(name) 10",
                    "user SHARING_METADATA shared/\(owner)/\(name) 10",
                    "user SHARING_ACCEPT share 11",
                    "user RECORDS_MODIFY private/\(name) \(refusals[0])",
                    "user ZONES_MODIFY shared/\(owner)/\(name) \(refusals[1])",
                    "user ZONES_MODIFY shared/\(owner)/\(name) 0",
                    "user RECORDS_MODIFY private/\(name) 0",
                    "user SHARING_ACCEPT shared/\(owner)/\(name) 11",
                    "user RECORDS_MODIFY private/\(name) 0",
                    "user ZONES_MODIFY private/\(name) 0",
                ]
            )
            #expect(found.allSatisfy { $0.id?.count == 32 })
            let end = String(try #require(url.path.split(separator: "/").last))
            let text: String = found.compactMap(\.target).joined()
            #expect(!text.contains(end) && !text.contains("matter"))
            for container in [ada, bob, eve] { await container.close() }
        }
    }

    /// A line names a key as the list of keys does, and a user as the list of users does.
    @Test func urlsThatAreRefusedToStrangersAndKeysNameTheShare() async throws {
        try await withServer { server, lines in
            let ada = server.container(token: try await server.makeUser("ada"))
            let owner = try await ada.userRecordID().recordName
            let zone = RecordZone.ID(zoneName: "Trips")
            try await ada.privateCloudDatabase.save(RecordZone(zoneID: zone))
            let share = try await ada.privateCloudDatabase.save(Share(recordZoneID: zone))
            let url = Bytes(try #require(share.url).absoluteString.utf8)
            await ada.close()
            let admin = server.nodeOperator()
            let key = try TestServiceKey()
            let made = try await admin.addKey(
                key.publicKey,
                label: "",
                expires: nil,
                in: TestServer.container,
                .development
            ).key
            #expect(try await admin.users(in: nil).map(\.id.count) == [32])
            let user = try #require(try await admin.users(in: nil).first?.id)
            await admin.close()
            #expect(try lines.take().contains { $0.caller == "user" && $0.id == user })
            let stranger = try RawClient(greeting: server.endpoint)
            let machine = try RawClient.greeting(server, with: key)
            let accept = AcceptShareRequest(url).encoded()
            let look = ShareMetadataRequest(url: url).encoded()
            _ = try error { _ = try stranger.perform(.sharingAccept, accept) }
            _ = try error { _ = try stranger.perform(.sharingAccept, [1]) }
            _ = try error { _ = try machine.perform(.sharingAccept, accept) }
            _ = try error { _ = try machine.perform(.sharingMetadata, look) }
            let name = "shared/\(owner)/Trips/\(Share.zoneWideRecordName)"
            let found = try lines.take()
            #expect(
                found.map(\.short) == [
                    "anonymous SHARING_ACCEPT \(name) 9", "anonymous SHARING_ACCEPT share 9",
                    "server SHARING_ACCEPT \(name) 10", "server SHARING_METADATA \(name) 10",
                ]
            )
            #expect(found.suffix(2).allSatisfy { $0.id == made.id })
        }
    }

    /// Each has a line, which comes after the deletion was answered.
    @Test func sharesOfRecordsEndWithTheirZone() async throws {
        try await withServer { server, lines in
            let ada = server.container(token: try await server.makeUser("ada"))
            let mine = ada.privateCloudDatabase
            func share(_ name: String, in zone: RecordZone.ID) async throws -> Record.ID {
                let id = Record.ID(recordName: name, zoneID: zone)
                let share = Record.ID(recordName: "share-\(name)", zoneID: zone)
                let root = try await mine.save(Record(recordType: "Note", recordID: id))
                return try await mine.save(
                    Share(rootRecord: root, shareID: share),
                    rootRecord: root
                ).share.recordID
            }
            let (past, trips) = (RecordZone.ID(zoneName: "Past"), RecordZone.ID(zoneName: "Trips"))
            for zone in [past, trips] { try await mine.save(RecordZone(zoneID: zone)) }
            let ended = try await share("rome", in: past)
            try await mine.deleteRecord(withID: ended)
            for name in ["oslo", "bern"] { _ = try await share(name, in: trips) }
            _ = try lines.take()
            // Nothing is shared there any more.
            try await mine.deleteRecordZone(withID: past)
            try await mine.deleteRecordZone(withID: trips)
            for _ in 0..<1_000 where lines.text.split(separator: "\n").count < 2 {
                try await Task.sleep(for: .milliseconds(10))
            }
            let found = try lines.take()
            #expect(
                found.map(\.short) == [
                    "user ZONES_MODIFY private/Trips/share-bern 0",
                    "user ZONES_MODIFY private/Trips/share-oslo 0",
                ]
            )
            #expect(found.allSatisfy { $0.id?.count == 32 && $0.container != nil })
            await ada.close()
        }
    }

    @Test func ofManySharesALineTellsTheNumber() {
        let zone = ZoneAddress(name: "Trips")
        let names = (1...EndedShares.mostLines + 1).map { "share-\($0)" }
        let few = EndedShares.targets(Array(names.dropLast()), in: zone)
        #expect(few == names.dropLast().map { "private/Trips/\($0)" })
        #expect(EndedShares.targets(names, in: zone) == ["private/Trips: 9 shares of records"])
        #expect(EndedShares.targets([], in: zone).isEmpty)
    }

    /// Reads are no lines.
    @Test func rolesAreLinesAndListsAreNot() async throws {
        try await withServer { server, lines in
            try await server.importSchema(AccessMatrix.schema)
            _ = try await server.makeUser("ada")
            let admin = try RawClient.administering(server)
            _ = try lines.take()
            var header = CallHeader(.rolesSet)
            header.container = Bytes(TestServer.container.utf8)
            header.environment = UInt32(Environment.development.rawValue)
            for isGiven in [true, false] {
                let request = SetRoleRequest(
                    user: Bytes("ada".utf8),
                    role: Bytes("Moderator".utf8),
                    isGiven: isGiven
                )
                _ = try admin.perform(header, request.encoded())
            }
            header.method = Method.sharingStop.rawValue
            let (user, zone) = (Bytes("ada".utf8), Bytes("Trips".utf8))
            let stop = StopShareRequest(user: user, zone: zone, share: Bytes("share".utf8))
            _ = try admin.perform(header, stop.encoded())
            header.method = Method.sharingList.rawValue
            _ = try admin.perform(header, ListSharesRequest(user).encoded())
            header.method = Method.subscriptionsEnd.rawValue
            for ids in [[], ["large", "small"]] {
                let end = EndSubscriptionsRequest(user: user, ids: ids.map { Bytes($0.utf8) })
                _ = try admin.perform(header, end.encoded())
            }
            header.method = Method.subscriptionsList.rawValue
            _ = try admin.perform(header, ListUserSubscriptionsRequest(user).encoded())
            _ = try admin.perform(.operatorListUsers)
            _ = try admin.perform(.operatorStatus)
            let found = try lines.take()
            #expect(
                found.map(\.short) == [
                    "operator ROLES_SET ada: Moderator given 0",
                    "operator ROLES_SET ada: Moderator taken 0",
                    "operator SHARING_STOP ada: Trips/share (already ended or unknown) 0",
                    "operator SUBSCRIPTIONS_END ada: all subscriptions "
                        + "(already ended or unknown) 0",
                    "operator SUBSCRIPTIONS_END ada: subscriptions large, small "
                        + "(already ended or unknown) 0",
                ]
            )
            #expect(found.allSatisfy { $0.container == TestServer.container })
        }
    }

    /// Also a file that would drop what records hold, and one that was only looked at.
    @Test func changesOfASchemaSayWhatTheyAreOf() async throws {
        try await withServer { server, lines in
            try await server.importSchema(AccessMatrix.schema)
            let first = try #require(try lines.take().last?.target)
            #expect(first.hasSuffix(" changes: Post, Report, role Moderator"))
            let less = """
                DEFINE SCHEMA
                    CREATE ROLE Moderator;
                    RECORD TYPE Post (
                        "___recordID" REFERENCE QUERYABLE,
                        GRANT READ TO "_world", GRANT CREATE TO "_icloud", GRANT WRITE TO "_creator"
                    );
                """
            let admin = server.nodeOperator()
            func change(onlyValidates: Bool = false, drops: Bool = false) async throws {
                _ = try await admin.importSchema(
                    less,
                    of: TestServer.container,
                    .development,
                    onlyValidates: onlyValidates,
                    drops: drops
                )
            }
            await #expect(throws: ServiceError.self) { try await change() }
            try await change(onlyValidates: true, drops: true)
            try await change(drops: true)
            try await change(drops: true)
            await admin.close()
            let refused = ServiceError.Code.invalidArguments.rawValue
            let dropped = "2 changes: Post, Report; dropped: field Post.text, type Report"
            #expect(
                try lines.take().map(\.short) == [
                    "operator SCHEMA_IMPORT schema file \(refused)",
                    "operator SCHEMA_IMPORT nothing changed: only shown 0",
                    "operator SCHEMA_IMPORT \(dropped) 0",
                    "operator SCHEMA_IMPORT nothing changed 0",
                ]
            )
        }
    }

    /// Lines name the app, and the user whom a link is for; no line has a token.
    @Test func webAppsAndLinksHaveLines() async throws {
        try await withServer { server, lines in
            let token = Bytes(try await server.makeUser("ada").utf8)
            let admin = server.nodeOperator()
            let scope = ScopeID(container: TestServer.container, environment: .development)
            let app = WebApp(name: "notes", scope: scope, token: "")
            let added = try await admin.setWebApp(app, isNew: true).app
            for isThere in [true, false] {
                #expect(try await admin.removeWebApp("notes", in: scope) == isThere)
            }
            let link = try await admin.makeResetLink(forUser: "ada")
            await admin.close()
            let found = try lines.take()
            let ended = "(already ended or unknown)"
            #expect(
                found.suffix(4).map(\.short) == [
                    "operator WEB_APPS_SET web app notes 0",
                    "operator WEB_APPS_REMOVE web app notes 0",
                    "operator WEB_APPS_REMOVE web app notes \(ended) 0",
                    "operator ACCOUNTS_MAKE_RESET_LINK ada 0",
                ]
            )
            let nobody = try RawClient(greeting: server.endpoint)
            let password = Bytes("correct horse".utf8)
            let shown = Bytes(link.token.utf8)
            let right = ResetPasswordRequest(token: shown, password: password)
            _ = try nobody.perform(.accountsResetPassword, right.encoded())
            _ = try error { _ = try nobody.perform(.accountsResetPassword, right.encoded()) }
            let wrong = ResetPasswordRequest(token: token, password: password)
            _ = try error { _ = try nobody.perform(.accountsResetPassword, wrong.encoded()) }
            let used = try lines.take()
            let user = "user \(link.token.prefix(32))"
            #expect(
                used.map(\.short) == [
                    "anonymous ACCOUNTS_RESET_PASSWORD \(user) 0",
                    "anonymous ACCOUNTS_RESET_PASSWORD \(user) 9",
                    "anonymous ACCOUNTS_RESET_PASSWORD - 9",
                ]
            )
            for line in found + used {
                #expect(!"\(line)".contains(link.token) && !"\(line)".contains(added.token))
            }
        }
    }

    /// A line of what ended nothing does not look like one of what did.
    @Test func revocationsThatEndNothingSaySo() async throws {
        try await withServer { server, lines in
            let token = try await server.makeUser("ada")
            let admin = server.nodeOperator()
            let key = try TestServiceKey()
            let made = try await admin.addKey(
                key.publicKey,
                label: "importer",
                expires: nil,
                in: TestServer.container,
                .development
            ).key
            let added = "operator KEYS_ADD key \(made.id): importer 0"
            #expect(try lines.take().last?.short == added)
            for isGood in [true, false] {
                #expect(try await admin.revokeKey(made.id) == isGood)
            }
            await admin.close()
            let client = try RawClient.administering(server)
            let unknown = Bytes(repeating: 9, count: 16)
            _ = try client.perform(.keysRevoke, RevokeKeyRequest(unknown).encoded())
            let session = Sessions.digest(of: Bytes(token.utf8))
            for _ in 0..<2 {
                let request = RevokeSessionsRequest(id: session, user: Bytes("ada".utf8))
                _ = try client.perform(.accountsRevoke, request.encoded())
            }
            let (named, ended) = (made.id, "(already ended or unknown)")
            let never = server.node.text(ofKey: unknown)
            #expect(
                try lines.take().map(\.short) == [
                    "operator KEYS_REVOKE key \(named): importer 0",
                    "operator KEYS_REVOKE key \(named): importer \(ended) 0",
                    "operator KEYS_REVOKE key \(never) \(ended) 0",
                    "operator ACCOUNTS_REVOKE ada: session \(session.hex) 0",
                    "operator ACCOUNTS_REVOKE ada: session \(session.hex) \(ended) 0",
                ]
            )
        }
    }

    /// An address is named by its id: the address itself would reach the device.
    @Test func pushAddressesAreLines() async throws {
        try await withServer { server, lines in
            let token = try await server.makeUser("ada")
            let ada = try RawClient(greeting: server.endpoint, token: token)
            _ = try lines.take()
            let address = PushAddress.fcm(token: "secret-registration")
            let id = StoredPush.ID(of: address).bytes
            let request = RegisterPushRequest(address).encoded()
            _ = try ada.perform(.pushesRegister, request)
            for _ in 0..<2 {
                _ = try ada.perform(.pushesEnd, EndPushesRequest(id: id).encoded())
            }
            let wrong = RegisterPushRequest(.fcm(token: "")).encoded()
            _ = try error { _ = try ada.perform(.pushesRegister, wrong) }
            #expect(!lines.text.contains("secret-registration"))
            #expect(
                try lines.take().map(\.short) == [
                    "user PUSHES_REGISTER fcm \(id.hex) 0",
                    "user PUSHES_END push address \(id.hex) 0",
                    "user PUSHES_END push address \(id.hex) (already ended or unknown) 0",
                    "user PUSHES_REGISTER - 12",
                ]
            )
        }
    }

    @Test func refusalsAreLinesAlsoOfSingleRecords() async throws {
        try await withServer { server, lines in
            try await server.importSchema(AccessMatrix.schema)
            let tokens = [try await server.makeUser("ada"), try await server.makeUser("bob")]
            let ada = try RawClient(greeting: server.endpoint, token: tokens[0])
            let bob = try RawClient(greeting: server.endpoint, token: tokens[1])
            let id = Record.ID(recordName: "report-1")
            var report = Record(recordType: "Report", recordID: id)
            report["text"] = .string("a private matter")
            _ = try ada.save([report], in: .public)[0].get()
            _ = try lines.take()
            #expect(try bob.fetch("report-1", in: .public)[0].refusal?.code == .permissionFailure)
            #expect(try bob.save([report], in: .public)[0].refusal?.code == .permissionFailure)
            _ = try error { _ = try bob.perform(.operatorStatus) }
            _ = try error {
                _ = try RawClient(greeting: server.endpoint, token: "cumulus_nobody")
            }
            _ = try ada.fetch("report-1", in: .public)[0].get()
            #expect(
                try lines.take().map(\.short) == [
                    "user RECORDS_FETCH public/_defaultZone/report-1 10",
                    "user RECORDS_MODIFY public/_defaultZone/report-1 10",
                    "user OPERATOR_STATUS - 10", "anonymous HELLO - 9",
                ]
            )
        }
    }

    @Test func noSecretAndNoContentIsInALine() async throws {
        let lines = Lines()
        let server = try await TestServer(takesRegistrations: true, audit: { lines.keep($0) })
        let password = "correct horse battery"
        let stranger = try RawClient(greeting: server.endpoint)
        let opened = try stranger.signIn("ada", password, by: .accountsRegister)
        let token = String(decoding: opened.token, as: UTF8.self)
        let ada = try RawClient(greeting: server.endpoint, token: token)
        let made = try await server.makeUser("bob")
        try RawClient.administering(server).setPassword("another horse", of: "ada")
        _ = try error { _ = try ada.save([Record("secret-note")]) }
        _ = try error { _ = try stranger.signIn("ada", password) }
        let text = lines.text
        #expect(text.contains("ACCOUNTS_REGISTER") && text.contains("OPERATOR_ADD_TOKEN"))
        for secret in [password, token, made, TestServer.operatorToken, "horse", "a note"] {
            #expect(!text.contains(secret))
        }
        try await server.stop()
    }

    /// Its caller is gone before the answer, which may have been an act all the same.
    @Test func anActWhoseCallerIsGoneIsALine() async throws {
        let lines = Lines()
        let server = try await TestServer(startsThreads: false, audit: { lines.keep($0) })
        let admin = try RawClient.administering(server)
        let request = BytesRequest(Bytes("ada".utf8)).encoded()
        try admin.send(admin.call(.operatorAddUser, request))
        #expect(try await eventually { server.node.callsInProgress == 1 })
        admin.close()
        #expect(try await eventually { !lines.text.isEmpty })
        #expect(try lines.take().map(\.short) == ["operator OPERATOR_ADD_USER ada 34"])
        try await server.stop()
    }

    // MARK: Lines

    private func line(_ target: String = "") -> AuditLine {
        AuditLine(time: 1, role: "user", id: "ab", method: "M", target: target, epoch: 7)
    }

    @Test func aLineIsOneObjectWhateverIsInIt() throws {
        let target = "a \"quoted\" \\ name\n\u{1}\u{7F} é 🌍"
        var line = line(target)
        line.address = [0x20, 1, 0x0D, 0xB8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]
        let json = line.json
        #expect(json.last == UInt8(ascii: "\n") && json.count { $0 == UInt8(ascii: "\n") } == 1)
        let read = try JSONDecoder().decode(Line.self, from: Data(json))
        #expect(read.target == target && read.address == "2001:db8:0:0:0:0:0:1")
        #expect(read.code == 0 && read.epoch == 7 && read.leftOut == nil)
    }

    @Test func moreThanTenASecondAreLeftOutAndCounted() throws {
        let lines = Lines()
        let log = AuditLog(now: Instant(milliseconds: 0)) { lines.keep($0) }
        for _ in 0..<100 { log.note(line(), of: "ada", now: Instant(milliseconds: 0)) }
        #expect(try lines.take().map(\.leftOut) == Array(repeating: nil, count: 10))
        // Another caller has lines of its own, and an operator all of them.
        log.note(line(), of: "bob", now: Instant(milliseconds: 0))
        for _ in 0..<20 { log.note(line(), of: nil, now: Instant(milliseconds: 0)) }
        #expect(try lines.take().count == 21)
        log.note(line(), of: "ada", now: Instant(milliseconds: 100))
        #expect(try lines.take().map(\.leftOut) == [90])
        log.note(line(), of: "ada", now: Instant(milliseconds: 200))
        #expect(try lines.take().map(\.leftOut) == [nil])
    }

    /// Strangers with many addresses take neither memory nor lines from known callers.
    @Test func callersBeyondAThousandShareTheirLines() throws {
        let lines = Lines()
        let log = AuditLog(now: Instant(milliseconds: 0)) { lines.keep($0) }
        for number in 0..<3_000 {
            log.note(line(), of: "\(number)", now: Instant(milliseconds: 0))
        }
        #expect(try lines.take().count == 1_010)
        log.note(line(), of: "5", now: Instant(milliseconds: 0))
        #expect(try lines.take().count == 1)
        // Silent callers are forgotten, which makes room.
        for number in 3_000..<3_500 {
            log.note(line(), of: "\(number)", now: Instant(milliseconds: 2_000))
        }
        #expect(try lines.take().count == 500)
    }
}
