// The client's environment: time, dice, waiting, and the network.
//
// `Container` makes the real one; tests and a simulator hand in theirs.

import CumulusModel
import CumulusSystem
import CumulusTransport
package import CumulusWire

package struct ClientEnvironment: Sendable {
    /// A clock that never goes back.
    package var now: @Sendable () -> Instant
    /// Milliseconds since 1970 UTC.
    package var wallClock: @Sendable () -> Int64
    package var random: @Sendable () -> UInt64
    /// Waits that many milliseconds; throws when the task is cancelled.
    package var sleep: @Sendable (Int64) async throws -> Void
    package var dialer: any FrameDialer
    /// The executor of the client's own tasks; nil means the system's threads.
    package var executor: (any TaskExecutor)?
    /// One of the threads that serve the connections, another one each time where there are more.
    package var connectionExecutor: @Sendable () -> any TaskExecutor

    package init(
        now: @escaping @Sendable () -> Instant,
        wallClock: @escaping @Sendable () -> Int64,
        random: @escaping @Sendable () -> UInt64,
        sleep: @escaping @Sendable (Int64) async throws -> Void,
        dialer: any FrameDialer,
        executor: (any TaskExecutor)? = nil,
        connectionExecutor: @escaping @Sendable () -> any TaskExecutor
    ) {
        self.now = now
        self.wallClock = wallClock
        self.random = random
        self.sleep = sleep
        self.dialer = dialer
        self.executor = executor
        self.connectionExecutor = connectionExecutor
    }

    /// The event loops for the connections of all containers in this process: a thread for every
    /// two processors, not one for every container.
    private static let loops = EventLoops(
        threads: max(1, ProcessInfo.processInfo.activeProcessorCount / 2)
    )

    /// The real world.
    package static func system(_ configuration: Container.Configuration) -> ClientEnvironment {
        ClientEnvironment(
            now: MonotonicClock.now,
            wallClock: { Int64(Date().timeIntervalSince1970 * 1_000) },
            random: { UInt64.random(in: .min ... .max) },
            sleep: { try await Task.sleep(for: .milliseconds($0)) },
            dialer: NIOFrameDialer(
                loops: loops,
                trust: TLSTrust(configuration),
                connectMilliseconds: configuration.attemptMilliseconds
            ),
            connectionExecutor: { loops.next() }
        )
    }
}

/// The environment's dice where a generator is asked for.
struct ClientDice: RandomNumberGenerator {
    let random: @Sendable () -> UInt64

    mutating func next() -> UInt64 { random() }

    /// 32 random bytes, to be signed.
    mutating func nonce() -> Bytes {
        (0..<4).flatMap { _ in withUnsafeBytes(of: next().bigEndian, Array.init) }
    }
}
