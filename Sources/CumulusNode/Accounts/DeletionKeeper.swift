// Deletes what deleted users and containers have, on this node and by commits on all nodes; begins
// with what the last process left.
//
// It runs beside the listener until it is cancelled, and gives the writer small jobs one after the
// other: after each it leaves the writer to others for as long as the job took. It looks again when
// this node hears of a deletion, at each of the collector's looks at what was not finished, and
// once an hour at everything: what comes late from a node that had been cut off goes then.

import CumulusModel
import CumulusOperations
import CumulusReplication
import CumulusStorage
import CumulusWire
import Logging
import Synchronization

package final class DeletionKeeper: Sendable {
    /// Deleted users, or subjects, that one read looks at.
    private static let usersAtOnce = 200
    /// Milliseconds after which everything is looked at again.
    private static let hour: Int64 = 3_600_000

    private let node: Node
    private let memory = Mutex(Memory())

    /// The users of whom nothing was left, by scopes, and the scopes of deleted containers in which
    /// nothing was left, since the last look at everything.
    private struct Memory {
        var finished: [ScopeNumber: Set<Bytes>] = [:]
        var emptied: Set<ScopeNumber> = []
        var began: Int64?
    }

    package init(_ node: Node) {
        self.node = node
    }

    /// Returns when the task is cancelled.
    package func run() async {
        await ScopeWork(
            node: node,
            news: node.gate.deletionNews.stream,
            problem: "what deleted users or containers have can't be deleted now",
            work: work
        ).run()
    }

    /// Looks at everything once, and deletes what this node has to.
    package func lookAtAll() async throws {
        let all = try await node.gate.reading { reader in try ScopeDirectory.all(in: reader) }
        for (scope, number) in all { try await work(scope, number) }
    }

    private func work(_ scope: ScopeID, _ number: ScopeNumber) async throws {
        forgetOldMemory()
        let deletion = try await node.gate.reading { reader in
            try DeletedContainers.stamp(of: scope.container, in: reader)
        }
        if let deletion { return try await empty(scope, number, deletion) }
        var last: Bytes?
        repeat {
            let after = last
            let page = try await node.gate.reading { reader in
                try DeletedUsers.page(after: after, limit: Self.usersAtOnce, in: reader)
            }
            for deletion in page where !isFinished(deletion.userID, in: number) {
                try Task.checkCancellation()
                let isDone =
                    if scope == .cluster {
                        try await drop(deletion.userID)
                    } else {
                        try await delete(deletion, in: scope, number)
                    }
                if isDone { finish(deletion.userID, in: number) }
            }
            last = page.count < Self.usersAtOnce ? nil : page.last?.userID
        } while last != nil
        if scope == .cluster { try await dropSubjects() }
    }

    // MARK: Memory

    private func forgetOldMemory() {
        let now = node.environment.now().milliseconds
        memory.withLock { memory in
            if let began = memory.began, now < began + Self.hour { return }
            memory = Memory(began: now)
        }
    }

    private func isFinished(_ userID: Bytes, in scope: ScopeNumber) -> Bool {
        memory.withLock { $0.finished[scope]?.contains(userID) ?? false }
    }

    private func finish(_ userID: Bytes, in scope: ScopeNumber) {
        memory.withLock { _ = $0.finished[scope, default: []].insert(userID) }
    }

    // MARK: Accounts

    /// Drops the rows that opened an account.
    private func drop(_ userID: Bytes) async throws -> Bool {
        let isEmpty = try await node.gate.reading { reader in
            try DeletedAccounts.isEmpty(of: userID, reader)
        }
        var isDone = isEmpty
        while !isDone {
            isDone = try await inTurn(.housekeeping) { transaction throws(EngineError) in
                try DeletedAccounts.drop(of: userID, &transaction)
            }
        }
        return true
    }

    private func dropSubjects() async throws {
        var last: Bytes?
        repeat {
            let after = last
            let page = try await node.gate.reading { reader in
                try DeletedAccounts.subjects(after: after, limit: Self.usersAtOnce, in: reader)
            }
            if !page.found.isEmpty {
                try await inTurn(.housekeeping) { transaction throws(EngineError) in
                    for key in page.found { transaction.put(key, nil) }
                }
            }
            last = page.last
        } while last != nil
    }

    // MARK: Data

    /// Deletes what a user has in a container; false if another node has to, or this one later.
    private func delete(
        _ deletion: DeletedUsers.Deletion,
        in scope: ScopeID,
        _ number: ScopeNumber
    ) async throws -> Bool {
        let traces = UserTraces(of: deletion, in: scope.container, number)
        let isEmpty = try await node.gate.reading { try traces.isEmpty($0) }
        if isEmpty { return true }
        while true {
            try Task.checkCancellation()
            let now = node.clock
            let turn = try await inTurn(.deletes) { [node] transaction throws(EngineError) in
                // While another node's state is merged in, nothing else changes.
                if node.gate.stops.isHeld(scope) { return UserTraces.Turn.waits }
                let turn = try traces.delete(now: now, &transaction)
                if case .orphaned(let zone, let name) = turn {
                    try CascadeCompensation.run(
                        after: [name],
                        of: zone,
                        in: number,
                        &transaction
                    )
                }
                return turn
            }
            if turn == .waits { return false }
            if turn == .done { return true }
        }
    }

    // MARK: Containers

    /// Deletes all that is in a scope of a deleted container, unless another node has to.
    private func empty(
        _ scope: ScopeID,
        _ number: ScopeNumber,
        _ deletion: Stamp
    ) async throws {
        if memory.withLock({ $0.emptied.contains(number) }) { return }
        let traces = ContainerTraces(of: deletion, number)
        while true {
            let marks = try await node.gate.reading { try traces.marks($0) }
            if marks.isEmpty { break }
            try await inTurn(.housekeeping) { transaction throws(EngineError) in
                for key in marks { transaction.put(key, nil) }
            }
        }
        guard try await deleteZones(scope, traces), try await endSubscriptions(scope, traces)
        else { return }
        let hasRest = try await node.gate.reading { try traces.hasRest($0) }
        if hasRest {
            let isDone = try await due(scope, traces) { transaction throws(EngineError) in
                try traces.deleteRest(&transaction)
            }
            if !isDone { return }
        }
        memory.withLock { _ = $0.emptied.insert(number) }
    }

    /// Returns false if another node has to, or this one later.
    private func deleteZones(_ scope: ScopeID, _ traces: ContainerTraces) async throws -> Bool {
        var last: Bytes?
        repeat {
            let after = last
            let page = try await node.gate.reading { try traces.zones(after: after, $0) }
            var rest = page.zones[...]
            while !rest.isEmpty {
                let some = rest.prefix(ContainerTraces.zonesAtOnce)
                rest = rest.dropFirst(ContainerTraces.zonesAtOnce)
                let isDone = try await due(scope, traces) { transaction throws(EngineError) in
                    try traces.delete(some, &transaction)
                }
                if !isDone { return false }
            }
            last = page.last
        } while last != nil
        return true
    }

    /// Returns false if another node has to, or this one later.
    private func endSubscriptions(
        _ scope: ScopeID,
        _ traces: ContainerTraces
    ) async throws -> Bool {
        var last: Bytes?
        repeat {
            let after = last
            let page = try await node.gate.reading { try traces.subscriptions(after: after, $0) }
            if !page.keys.isEmpty {
                let isDone = try await due(scope, traces) { transaction throws(EngineError) in
                    try traces.end(page.keys, &transaction)
                }
                if !isDone { return false }
            }
            last = page.last
        } while last != nil
        return true
    }

    /// Runs a job of the writer that makes commits; returns false if another node has to, or this
    /// one later.
    private func due(
        _ scope: ScopeID,
        _ traces: ContainerTraces,
        _ body: @escaping @Sendable (inout WriteTransaction) throws(EngineError) -> Void
    ) async throws -> Bool {
        try Task.checkCancellation()
        let now = node.clock
        return try await inTurn(.deletes) { [node] transaction throws(EngineError) in
            // While another node's state is merged in, nothing else changes.
            guard !node.gate.stops.isHeld(scope), traces.isDue(now: now, transaction) else {
                return false
            }
            try body(&transaction)
            return true
        }
    }

    /// Runs a job of the writer, and leaves the writer to others for as long as it took.
    @discardableResult
    private func inTurn<Value: Sendable>(
        _ kind: StoreGate.WorkKind,
        _ body: @escaping @Sendable (inout WriteTransaction) throws(EngineError) -> Value
    ) async throws -> Value {
        let start = node.environment.now()
        let value = try await node.gate.change(kind, body)
        let milliseconds = node.environment.now().milliseconds - start.milliseconds
        try await node.environment.sleep(max(1, milliseconds))
        return value
    }
}
