// What streams are told from the newest state of the store: those that ask the same get the same
// answer, read and encoded once.
//
// Shared by all streams of a kind on a node, asked on reader threads. It is emptied whenever the
// store moves on, since the next page of each stream begins elsewhere then. hot: once per page of a
// stream.

import Synchronization

final class SharedPages<Question: Hashable & Sendable, Answer: Sendable>: Sendable {
    private struct State {
        var version: UInt64 = 0
        var answers: [Question: Answer] = [:]
        var byteCount = 0

        mutating func reset(to newer: UInt64) {
            guard newer > version else { return }
            self = State(version: newer)
        }
    }

    private let state = Mutex(State())
    /// Bytes of answers that are kept at most.
    private let capacity = 4 << 20
    private let size: @Sendable (Answer) -> Int
    private let isShared: @Sendable (Answer) -> Bool

    /// - Parameters:
    ///   - size: How many bytes an answer takes, about.
    ///   - isShared: Whether all who ask the same get that answer.
    init(
        size: @escaping @Sendable (Answer) -> Int,
        isShared: @escaping @Sendable (Answer) -> Bool = { _ in true }
    ) {
        self.size = size
        self.isShared = isShared
    }

    /// The answer to a question.
    ///
    /// - Parameters:
    ///   - question: nil means that nobody shares the answer.
    ///   - version: Of the state that `read` reads.
    func answer(
        _ question: Question?,
        at version: UInt64,
        read: () throws -> Answer
    ) throws -> Answer {
        guard let question else { return try read() }
        let known = state.withLock { state -> Answer? in
            state.reset(to: version)
            return state.version == version ? state.answers[question] : nil
        }
        if let known { return known }
        let answer = try read()
        guard isShared(answer) else { return answer }
        let size = size(answer)
        state.withLock { state in
            guard state.version == version, state.answers[question] == nil,
                state.byteCount + size <= capacity
            else { return }
            state.answers[question] = answer
            state.byteCount += size
        }
        return answer
    }
}
