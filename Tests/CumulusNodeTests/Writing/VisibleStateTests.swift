// What callers see and are told: never more than what is durable, and never less.

import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusTesting
import Testing

@testable import CumulusNode

@Suite struct VisibleStateTests {
    /// The first batch of a run writes to a scope of earlier runs: tokens move together with the
    /// visible state.
    @Test func aBatchIsShownAndToldAtOnce() throws {
        let store = try TestStore()
        for number in 0..<5 {
            try store.save([SaveItem("r\(number)", ["a": 1])])
            try store.restart()
        }
        let scope = try store.scopeNumber()
        let before = try store.vector()
        let visible = VisibleState(try store.engine.snapshot(), store.state)
        #expect(visible.covers(before, scope))

        let save = ModifyRecords(
            database: .private,
            policy: .ifUnchanged,
            saves: [SaveItem("s", ["a": 2])]
        )
        let request = store.request(save, by: .alice)
        var group = GroupCommit(engine: store.engine, state: store.state)
        try group.run(now: store.now) { (transaction: inout WriteTransaction) throws(EngineError) in
            let (_, keep) = try request.run(in: &transaction)
            return ((), keep)
        }
        let state = try group.commit()
        var after = before
        after[state.incarnation] = state.scopes[scope]?.runs[state.incarnation]?.seq ?? 0
        #expect(after != before)

        func seen() throws -> VersionVector {
            try ReadTransaction(visible.reader, reach: .disk).vector(of: scope)
        }
        let version: UInt64 = 1
        #expect(try seen() == before)
        #expect(visible.covers(before, scope) && !visible.covers(after, scope))
        #expect(visible.isAt(version))
        let next = VisibleState.Next(
            reader: try store.engine.snapshot(),
            scopes: state.scopes,
            changesZones: false,
            changesSchemas: false
        )
        visible.advance(to: next)
        #expect(try seen() == after)
        #expect(visible.covers(after, scope))
        #expect(!visible.isAt(version))
    }

    @Test func zonesAndSchemasAreLookedUpAnewWhenTheyChanged() throws {
        let store = try TestStore()
        let visible = VisibleState(try store.engine.snapshot(), store.state)
        /// Returns which of both begin anew.
        func advance(zones: Bool, schemas: Bool) throws -> [Bool] {
            let before = visible.view
            visible.advance(
                to: VisibleState.Next(
                    reader: try store.engine.snapshot(),
                    scopes: store.state.scopes,
                    changesZones: zones,
                    changesSchemas: schemas
                )
            )
            let after = visible.view
            return [after.zones !== before.zones, after.schemas !== before.schemas]
        }
        for (zones, schemas) in [(true, false), (false, true), (false, false), (true, true)] {
            #expect(try advance(zones: zones, schemas: schemas) == [zones, schemas])
        }
    }
}
