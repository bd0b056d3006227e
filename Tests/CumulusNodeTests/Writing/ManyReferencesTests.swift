// Saves of very many references on a node: the writer looks up nothing for them, so that others
// save in between.

import Cumulus
import CumulusModel
import CumulusNode
import CumulusStorage
import CumulusTesting
import CumulusWire
import Synchronization
import Testing

@Suite(.serialized) struct ManyReferencesTests {
    /// As many as one request may have.
    private static let owners = Limits.standard.ownersPerRequest
    private static let recordsAtOnce = 400
    /// A turn takes less than 50 milliseconds on a quiet machine.
    ///
    /// A machine that does other work as well takes several times as long; work that grows with the
    /// square takes seconds.
    private static let longestTurn = 250

    /// Few bytes: 200,000 fit into a request.
    private static func name(_ number: Int) -> String { String(number, radix: 36) }

    /// Records that many others will refer to.
    private func plant(_ client: RawClient) throws {
        for start in stride(from: 0, to: Self.owners, by: Self.recordsAtOnce) {
            let numbers = start..<min(start + Self.recordsAtOnce, Self.owners)
            for result in try client.save(numbers.map { Record(Self.name($0)) }) {
                _ = try result.get()
            }
        }
    }

    /// A save of records with lists of references that together are so many.
    private func request(
        records: Int,
        references count: Int,
        _ reference: (String) -> FieldValue
    ) -> Bytes {
        let each = count / records
        let saves = (0..<records).map { index in
            let targets = (0..<each).map { Self.name((index * each + $0) % Self.owners) }
            return Record("many-\(index)", ["to": .list(targets.map(reference))])
        }
        return RawRequest.save(saves)
    }

    /// Sends the request while others save, and tells how many of them did, what the writer read
    /// for all of them, and how long its longest turn was.
    private func perform(
        _ request: Bytes,
        at server: TestServer,
        _ engine: CountingEngine,
        _ token: String
    ) async throws -> (saves: Int, reads: Int, milliseconds: Int) {
        server.node.meter.longestTurn.store(0, ordering: .relaxed)
        let before = engine.reads
        let isDone = Atomic<Bool>(false)
        let endpoint = server.endpoint
        async let saves = besideTasks {
            let saver = try RawClient(greeting: endpoint, token: token)
            var saves = 0
            repeat {
                _ = try saver.save([Record("other-\(saves)")])[0].get()
                saves += 1
            } while !isDone.load(ordering: .relaxed)
            return saves
        }
        let response = try await besideTasks {
            defer { isDone.store(true, ordering: .relaxed) }
            return try RawClient(greeting: endpoint, token: token)
                .modify(request, id: RawRequest.newID())
        }
        for save in response.saves { _ = try save.get() }
        let count = try await saves
        return (count, engine.reads - before, server.node.meter.longestTurn.value / 1_000)
    }

    /// Tells the figures; holds the longest turn to its limit, and the reads to what the saves
    /// beside may have taken.
    private func check(_ figures: (saves: Int, reads: Int, milliseconds: Int), _ what: String) {
        print(
            """
            \(what): longest turn of the writer \(figures.milliseconds) ms, \(figures.saves) saves \
            beside, \(figures.reads) reads of the writer
            """
        )
        #expect(figures.milliseconds < Self.longestTurn, "\(what)")
        // A save takes a few reads, a record of the large one too.
        #expect(figures.reads < 20 * figures.saves + Self.owners / 2)
    }

    @Test func theWriterLooksUpNoTargets() async throws {
        let engine = CountingEngine()
        try await withServer(engine: engine) { server in
            let token = try await server.makeUser("ada")
            let client = try RawClient(greeting: server.endpoint, token: token)
            try plant(client)
            let many = request(records: 200, references: Self.owners, FieldValue.owner)
            check(try await perform(many, at: server, engine, token), "2,000 with deleteSelf")
            // The same again: the records are there, and what they refer to.
            let again = request(records: 100, references: Self.owners / 2, FieldValue.owner)
            let refusal = try client.modify(again, id: RawRequest.newID()).saves[0].refusal
            #expect(refusal?.code == .serverRecordChanged)
            // They are what they would be had the writer looked them up.
            #expect(try DerivedRows.differences(in: engine) == [])
            _ = try client.modify(Self.deletion("0"), id: RawRequest.newID())
            #expect(try client.fetch("many-0")[0].refusal?.code == .unknownItem)
        }
    }

    private static func deletion(_ name: String) -> Bytes {
        ModifyRecordsRequest(
            database: .private,
            policy: 0,
            isAtomic: true,
            saves: [],
            deletes: [WireRecordID(name: Bytes(name.utf8), zone: nil)]
        ).encoded()
    }

    @Test func aSaveOf200000LinksHoldsNobodyUp() async throws {
        let engine = CountingEngine()
        try await withServer(engine: engine) { server in
            let token = try await server.makeUser("ada")
            let client = try RawClient(greeting: server.endpoint, token: token)
            try plant(client)
            let many = request(records: 200, references: 200_000, FieldValue.link)
            #expect(many.count <= Limits.standard.requestBytes)
            check(try await perform(many, at: server, engine, token), "200,000 links")
        }
    }

    @Test func moreThanTheLimitAreRefusedBeforeTheWriter() async throws {
        let engine = CountingEngine()
        try await withServer(engine: engine) { server in
            let token = try await server.makeUser("ada")
            let client = try RawClient(greeting: server.endpoint, token: token)
            let many = request(records: 200, references: Self.owners + 200, FieldValue.owner)
            let before = engine.reads
            let refusal = try error {
                _ = try client.modify(many, id: RawRequest.newID())
            }
            #expect((refusal.code, refusal.reason) == (.limitExceeded, .tooManyItems))
            #expect(refusal.message.contains("(\(Self.owners))"))
            #expect(engine.reads - before < 10)
            // The client library sends them in parts.
            let container = server.container(token: token)
            let saves = (0..<400).map { index in
                Record("part-\(index)", ["to": .list((0..<20).map { .owner("\(index)-\($0)") })])
            }
            let results = try await container.privateCloudDatabase.modifyRecords(
                saving: saves,
                deleting: []
            )
            #expect(try results.saveResults.values.map { try $0.get() }.count == 400)
            await container.close()
        }
    }
}
