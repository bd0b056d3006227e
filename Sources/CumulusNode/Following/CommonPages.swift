// Answers from the newest state of the store: streams with equal questions share one answer, which
// is read and encoded once.
//
// Shared by all streams of a kind on a node, asked on reader threads. It is emptied with each newer
// state, since the next page of each stream begins elsewhere then. hot: once per page of a stream.

import Synchronization

final class CommonPages<Question: Hashable & Sendable, Answer: Sendable>: Sendable {
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
    /// The most bytes that are kept.
    private let capacity = 4 << 20
    /// Approximate bytes of each entry beyond what `size` counts.
    private let entryBytes = 512
    private let size: @Sendable (Question, Answer) -> Int
    private let isShared: @Sendable (Answer) -> Bool

    /// - Parameters:
    ///   - size: The approximate bytes of the large parts of a question and its answer.
    ///   - isShared: Whether all streams with the question may get the answer.
    init(
        size: @escaping @Sendable (Question, Answer) -> Int,
        isShared: @escaping @Sendable (Answer) -> Bool = { _ in true }
    ) {
        self.size = size
        self.isShared = isShared
    }

    /// The answer to a question.
    ///
    /// - Parameters:
    ///   - question: nil if no other stream may share the answer.
    ///   - version: The version of the state that `read` reads.
    func answer(
        _ question: Question?,
        at version: UInt64,
        read: () throws -> Answer
    ) throws -> Answer {
        if let known = known(question, at: version) { return known }
        let answer = try read()
        keep(answer, to: question, at: version)
        return answer
    }

    /// Returns the answer that is kept for a question; nil if this version of the state has not
    /// been asked that question.
    func known(_ question: Question?, at version: UInt64) -> Answer? {
        guard let question else { return nil }
        return state.withLock { state in
            state.reset(to: version)
            return state.version == version ? state.answers[question] : nil
        }
    }

    /// Keeps an answer for other streams, unless a newer state was asked about meanwhile.
    func keep(_ answer: Answer, to question: Question?, at version: UInt64) {
        guard let question, isShared(answer) else { return }
        let size = size(question, answer) + entryBytes
        state.withLock { state in
            guard state.version == version, state.answers[question] == nil,
                state.byteCount + size <= capacity
            else { return }
            state.answers[question] = answer
            state.byteCount += size
        }
    }
}
