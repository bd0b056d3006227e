// Time that stands still and dice that fall the same way: two nodes that are asked the same in the
// same order answer with the same times and the same random bytes.
//
// Given to `TestServer` by `HiddenWorlds`. Monotonic time goes on: deadlines and pauses are real.

import CumulusModel
import CumulusNode
import Foundation
import Synchronization

package final class StillEnvironment: Sendable {
    private let state: Mutex<(now: Int64, dice: SeededGenerator)>

    /// - Parameter milliseconds: Since 1970 UTC; near the machine's time, by which clients number
    ///   their requests.
    package init(
        at milliseconds: Int64 = Int64(Date().timeIntervalSince1970 * 1_000),
        seed: UInt64 = 1
    ) {
        state = Mutex((milliseconds, SeededGenerator(seed: seed)))
    }

    package var now: Int64 { state.withLock { $0.now } }

    /// Stops time there, and lets the dice begin anew.
    package func set(_ milliseconds: Int64, seed: UInt64) {
        state.withLock { $0 = (milliseconds, SeededGenerator(seed: seed)) }
    }

    func apply(to environment: inout NodeEnvironment) {
        environment.wallClock = { self.now }
        environment.random = { self.state.withLock { $0.dice.next() } }
    }
}
