// Containers that are deleted: who is let in, what goes, and why the name is not used again.

import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusTesting
import Testing

@Suite struct DeletedContainerTests: ShareTesting {
    let bed: ShareTestBed

    init() throws { bed = try ShareTestBed() }

    private func delete(at store: TestStore) throws {
        let request = WriteRequest(DeleteContainer(store.scope.container), caller: .administrator)
        _ = try store.run(request).get()
    }

    /// Does what a node does in the background; false if another node has to.
    private func keep(_ store: TestStore) throws -> Bool {
        let (reader, number, now) = (store.reader, try store.scopeNumber(), store.now)
        let container = store.scope.container
        let deletion = try #require(try DeletedContainers.stamp(of: container, in: reader))
        let traces = ContainerTraces(of: deletion, number)
        let marks = try traces.marks(reader)
        var (zones, keys, last): ([Commit.Zone], [[Bytes]], Bytes?) = ([], [], nil)
        repeat {
            let page = try traces.zones(after: last, reader)
            zones += page.zones
            last = page.last
        } while last != nil
        repeat {
            let page = try traces.subscriptions(after: last, reader)
            keys += page.keys
            last = page.last
        } while last != nil
        var isDue = true
        try store.change { (transaction: inout WriteTransaction) throws(EngineError) in
            for key in marks { transaction.put(key, nil) }
            isDue = traces.isDue(now: now, transaction)
            if !isDue { return }
            try traces.delete(zones, &transaction)
            try traces.end(keys, &transaction)
            try traces.deleteRest(&transaction)
        }
        return isDue
    }

    private func exchange(_ one: TestStore, _ other: TestStore) throws {
        var dice = SeededGenerator(seed: 1)
        for scope in [ScopeID.cluster, one.scope] {
            try one.takeCommits(of: scope, from: other, most: .max, using: &dice)
            try other.takeCommits(of: scope, from: one, most: .max, using: &dice)
        }
    }

    private func zones(at store: TestStore) throws -> [String] {
        try store.reader.zones(of: store.scopeNumber()).map(\.name)
    }

    private func code<Outcome>(_ answer: Result<Outcome, ServiceError>) -> ServiceError.Code? {
        guard case .failure(let error) = answer else { return nil }
        return error.code
    }

    @Test func whatIsInItGoes() throws {
        try bed.shareZoneAccepted(with: [bed.member(bob)], by: bob)
        try bed.save("a", by: bob)
        _ = try store.save([SaveItem("note", ["n": .int64(1)])], in: .public, by: owner)
        let subscription = Subscription(id: "all", kind: .database(recordType: nil))
        try store.modify(
            ModifySubscriptions(database: .private, saves: [.success(subscription)]),
            by: owner
        )
        let container = store.scope.container
        let found = try Holdings(ofContainer: container, in: store.reader)
        #expect(found.zones == 2 && found.shares == 1 && found.subscriptions == 1)
        #expect(found.users == 1 && found.usage.records == 3)
        try delete(at: store)
        #expect(try Containers.all(in: store.reader).isEmpty)
        #expect(try keep(store))
        #expect(try zones(at: store).isEmpty)
        #expect(try store.reader.subscriptions(in: store.scopeNumber()).isEmpty)
        #expect(try bed.zones(by: bob).isEmpty)
        // Users stay.
        #expect(try Users.find("owner", in: store.reader) != nil)
    }

    @Test func nothingIsChangedInItAndTheNameIsNotUsedAgain() throws {
        let save = ModifyRecords(database: .private, saves: [SaveItem("a")])
        try delete(at: store)
        let saved = try store.run(store.request(save, by: owner))
        #expect(code(saved) == .badContainer)
        let schema = try Schema(ckdb: "DEFINE SCHEMA RECORD TYPE A (n INT64);")
        let imported = try store.run(
            WriteRequest(
                SchemaImport(.file(schema, drops: false)),
                scope: store.scope,
                caller: .administrator
            )
        )
        #expect(code(imported) == .badContainer)
        let container = store.scope.container
        for change in [CreateContainer(container)] {
            let made = try store.run(WriteRequest(change, caller: .administrator))
            #expect(code(made) == .badContainer)
        }
        let again = try store.run(WriteRequest(DeleteContainer(container), caller: .administrator))
        #expect(code(again) == .badContainer)
        let unknown = try store.run(WriteRequest(DeleteContainer("none"), caller: .administrator))
        #expect(code(unknown) == .badContainer)
    }

    @Test func onlyOperatorsDelete() throws {
        let container = store.scope.container
        let answer = try store.run(WriteRequest(DeleteContainer(container), caller: bob))
        #expect(code(answer) == .permissionFailure)
    }

    /// A node that had not heard of it writes, and converges.
    @Test func whatWasWrittenElsewhereMeanwhileGoes() throws {
        let other = try TestStore(seed: 2)
        try exchange(store, other)
        try delete(at: store)
        #expect(try keep(store))
        try other.modify(ModifyZones(saving: ["late"]), by: owner)
        try exchange(store, other)
        #expect(try zones(at: other) == ["late"] && zones(at: store) == ["late"])
        #expect(try !keep(other), "the node that took the deletion deletes, for a minute")
        other.now += 120_000
        #expect(try keep(other))
        try exchange(store, other)
        #expect(try zones(at: other).isEmpty && zones(at: store).isEmpty)
    }
}
