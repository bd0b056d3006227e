// What a request needs to be looked up before its turn in the writer, so that it does not hold up
// others: what a long cascade takes along, or what very many references refer to.
//
// Used by `OpenCalls+Writing` when the writer's answer says that the request needs it. Looks on
// reader threads, a few records at a time, so that others read in between.

import CumulusModel
import CumulusOperations
import CumulusStorage
import Synchronization

struct Surveys {
    /// Records that are looked at on a reader thread before others may read.
    private static let looksAtOnce = 1_000
    /// The same of targets: each may take two reads, one of them of many rows.
    private static let targetsAtOnce = 100
    /// Cascades of more than `looksAtOnce` records that are looked through at a time: each may take
    /// 40 MB of memory.
    private static let mostCascades = 4

    private let node: Node

    init(_ node: Node) {
        self.node = node
    }

    /// The request with what was found.
    func survey(_ request: WriteRequest, _ time: TaskTime) async throws -> WriteRequest {
        guard case .modifyRecords(var modify) = request.operation,
            let scope = try node.gate.latest(reach: .disk).scope(request.scope)
        else { return request }
        if modify.needsTargets {
            modify.targets = try await targets(of: modify, scope, request.caller, time)
        } else {
            modify.survey = try await cascades(of: modify, scope, request.caller, time)
        }
        var surveyed = request
        surveyed.operation = .modifyRecords(modify)
        return surveyed
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
            guard node.surveys.add(1, ordering: .relaxed).newValue <= Surveys.mostCascades else {
                throw Surveys.tooManyCascades
            }
        }
    }

    private func targets(
        of request: ModifyRecords,
        _ scope: ScopeNumber,
        _ caller: Caller,
        _ time: TaskTime
    ) async throws -> TargetSurvey {
        let survey = Survey(
            try await node.gate.reading { reader in
                try TargetSurvey(request, of: scope, by: caller, in: reader)
            }
        )
        var isDone = false
        while !isDone {
            if let refusal = time.refusal { throw refusal }
            isDone = try await node.gate.reading { reader in
                try survey.state.withLock { try $0.advance(reader, steps: Surveys.targetsAtOnce) }
            }
        }
        return survey.state.withLock { $0 }
    }

    /// One that goes from one reader thread to another.
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
