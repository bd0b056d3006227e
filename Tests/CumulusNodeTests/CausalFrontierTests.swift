// What callers are told that answers can show: never more than what is visible, and never less.

import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusTesting
import Testing

@testable import CumulusNode

@Suite struct CausalFrontierTests {
    /// The first batch of a run in a scope that earlier runs wrote to: until it is visible, nobody
    /// is told of it.
    @Test func aBatchIsNotToldBeforeItIsVisible() throws {
        let store = try TestStore()
        for number in 0..<5 {
            try store.save([SaveItem("r\(number)", ["a": 1])])
            try store.restart()
        }
        let scope = try store.scopeNumber()
        let before = try store.vector()
        let frontier = CausalFrontier(engine: store.engine, store.state)
        #expect(frontier.covers(before, scope))

        let save = ModifyRecords(
            database: .private,
            policy: .ifUnchanged,
            saves: [SaveItem("s", ["a": 2])]
        )
        let request = store.request(.modifyRecords(save), by: .alice)
        var group = GroupCommit(engine: store.engine, state: store.state)
        try group.run(now: store.now) { (transaction: inout WriteTransaction) throws(EngineError) in
            let (_, keep) = try request.run(in: &transaction)
            return ((), keep)
        }
        var after = before
        _ = try group.commit { state in
            after[state.incarnation] = state.scopes[scope]?.runs[state.incarnation]?.seq ?? 0
            frontier.begin(state)
            #expect(!frontier.covers(after, scope))
            #expect(frontier.covers(before, scope))
        }
        #expect(after != before)
        // Visible, though the writer has not said so yet.
        #expect(frontier.covers(after, scope))
        frontier.advance()
        #expect(frontier.covers(after, scope))
    }
}
