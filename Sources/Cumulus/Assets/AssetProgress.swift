// How far the assets of a save or of a download are, step by step.

import Synchronization

/// Follows an upload or a download: make one, hand it to the call, and iterate it meanwhile.
///
///     let progress = AssetProgress()
///     async let saved = database.save(record, progress: progress)
///     for await step in progress { print(step.fractionCompleted) }
///     try await saved
///
/// A slow reader sees the newest step only. The sequence ends when the call does.
public final class AssetProgress: AsyncSequence, Sendable {
    /// Where the transfer is.
    public struct Step: Hashable, Sendable {
        /// Bytes of all content, and how much of it is on the other side.
        public internal(set) var totalBytes: UInt64 = 0
        /// Bytes of content that need not travel any more.
        public internal(set) var completedBytes: UInt64 = 0
        /// The part of the completed bytes that was already there.
        public internal(set) var skippedBytes: UInt64 = 0
        /// Bytes that travelled, compressed as they were.
        public internal(set) var transferredBytes: UInt64 = 0
        /// Chunks of all content; 0 until they are known.
        public internal(set) var totalChunks = 0
        /// Chunks that need not travel any more.
        public internal(set) var completedChunks = 0

        /// 0 to 1.
        public var fractionCompleted: Double {
            totalBytes == 0 ? 1 : Double(completedBytes) / Double(totalBytes)
        }
    }

    /// A step of the transfer.
    public typealias Element = Step
    /// The sequence fails never; the call does.
    public typealias Failure = Never

    private let steps: AsyncStream<Step>
    private let source: AsyncStream<Step>.Continuation
    private let current = Mutex(Step())

    /// Follows nothing yet.
    public init() {
        (steps, source) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// The steps from now on; for one consumer.
    public func makeAsyncIterator() -> AsyncStream<Step>.Iterator {
        steps.makeAsyncIterator()
    }

    /// The newest step.
    public var latest: Step { current.withLock { $0 } }

    func update(_ change: (inout Step) -> Void) {
        let step = current.withLock { step in
            change(&step)
            return step
        }
        source.yield(step)
    }

    func finish() {
        source.finish()
    }
}
