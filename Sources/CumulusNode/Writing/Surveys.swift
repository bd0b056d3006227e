// Looks up what a request needs before its turn in the writer, so that it does not hold up others:
// what a long cascade deletes, what very many references refer to, or which records are shared in a
// zone that is to be shared as a whole.
//
// Used by `OpenCalls+Writing` before it queues a request whose contents need this, and when the
// writer's answer asks for it. Reads run on reader threads, a few records at a time, so that other
// reads come in between.

import CumulusModel
import CumulusOperations
import CumulusStorage
import Synchronization

struct Surveys {
    /// The records that one step reads before other reads may run.
    private static let looksAtOnce = 1_000
    /// The targets that one step reads; each may take two reads, one of them of many rows.
    private static let targetsAtOnce = 100

    private let node: Node

    init(_ node: Node) {
        self.node = node
    }

    /// The request with what it needs to know of the records that it refers to, and of the shares
    /// in zones that it is to share.
    func prepare(
        _ request: WriteRequest<ModifyRecords>,
        _ time: TaskTime
    ) async throws -> WriteRequest<ModifyRecords> {
        var request = request
        let (modify, caller) = (request.change, request.asker.caller)
        guard let scope = try node.gate.latest(reach: .disk).scope(request.asker.scope) else {
            return request
        }
        if modify.needsTargets {
            let begun = try await node.gate.reading { reader in
                try TargetSurvey(modify, of: scope, by: caller, in: reader)
            }
            request.change.targets = try await finish(begun, Surveys.targetsAtOnce, time)
        }
        if modify.needsShares {
            let begun = try await node.gate.reading { reader in
                try ShareSurvey(modify, of: scope, by: caller, in: reader)
            }
            request.change.shares = try await finish(begun, Surveys.looksAtOnce, time)
        }
        return request
    }

    /// The request with what the writer found missing; if all was prepared, with what a long
    /// cascade deletes.
    func survey(
        _ request: WriteRequest<ModifyRecords>,
        _ time: TaskTime
    ) async throws -> WriteRequest<ModifyRecords> {
        if request.change.needsSurvey { return try await prepare(request, time) }
        guard let scope = try node.gate.latest(reach: .disk).scope(request.asker.scope) else {
            return request
        }
        var request = request
        let (modify, caller) = (request.change, request.asker.caller)
        request.change.survey = try await cascades(of: modify, scope, caller, time)
        return request
    }

    private func cascades(
        of request: ModifyRecords,
        _ scope: ScopeNumber,
        _ caller: Caller,
        _ time: TaskTime
    ) async throws -> CascadeSurvey.Findings {
        var isLong = false
        defer { if isLong { node.surveys.subtract(1, ordering: .relaxed) } }
        let reader = node.gate.latest(reach: .disk)
        let survey = Survey(try CascadeSurvey(request, of: scope, by: caller))
        while true {
            if let refusal = time.refusal { throw refusal }
            let findings = try await node.gate.reading { _ in
                try survey.state.withLock { try $0.advance(reader, steps: Surveys.looksAtOnce) }
            }
            if let findings { return findings }
            if isLong { continue }
            isLong = true
            let limit = node.configuration.limits.cascadesAtOnce
            guard node.surveys.add(1, ordering: .relaxed).newValue <= limit else {
                throw Surveys.tooManyCascades
            }
        }
    }

    /// Advances a survey until little is left for the writer.
    private func finish<Begun: FollowingSurvey>(
        _ begun: Begun,
        _ steps: Int,
        _ time: TaskTime
    ) async throws -> Begun {
        let survey = Survey(begun)
        var isDone = false
        while !isDone {
            if let refusal = time.refusal { throw refusal }
            isDone = try await node.gate.reading { reader in
                try survey.state.withLock { try $0.advance(reader, steps: steps) }
            }
        }
        return survey.state.withLock { $0 }
    }

    /// A survey that goes from one reader thread to another.
    private final class Survey<State: Sendable>: Sendable {
        let state: Mutex<State>

        init(_ state: State) { self.state = Mutex(state) }
    }

    private static let tooManyCascades = ServiceError(
        .requestRateLimited,
        .overloaded,
        "too many long cascades are about to begin; try again in a moment"
    )
}

/// A survey of the newest state, which looks again at what changed since it began.
private protocol FollowingSurvey: Sendable {
    /// Returns whether little is left for the writer.
    mutating func advance(_ reader: ReadTransaction, steps: Int) throws -> Bool
}

extension TargetSurvey: FollowingSurvey {}
extension ShareSurvey: FollowingSurvey {}
