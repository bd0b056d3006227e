// The limits of one caller on one node per time, over all its connections.
//
// Part of `Limits`, told in HELLO, kept by the node's `CallerBudgets`. Nodes never share what they
// count: on n nodes a caller may do n times as much.

package struct CallerLimits: Hashable, Sendable {
    /// Calls that may begin per second; 0: no limit.
    package var callsPerSecond: Int
    /// Calls that may begin at once after a rest; counts only with `callsPerSecond`.
    package var callsBurst: Int
    /// Bytes of requests per second, uploads included; 0: no limit.
    package var bytesPerSecond: Int
    /// Calls in progress, but for streams that are followed; 0: no limit.
    package var callsAtOnce: Int

    package init(
        callsPerSecond: Int = 0,
        callsBurst: Int = 0,
        bytesPerSecond: Int = 0,
        callsAtOnce: Int = 0
    ) {
        self.callsPerSecond = callsPerSecond
        self.callsBurst = callsBurst
        self.bytesPerSecond = bytesPerSecond
        self.callsAtOnce = callsAtOnce
    }

    /// Bytes that may arrive at once after a rest: as many as in five seconds.
    package var bytesBurst: Int { 5 * bytesPerSecond }

    package var areNone: Bool { callsPerSecond == 0 && bytesPerSecond == 0 && callsAtOnce == 0 }

    /// No limits: for operators and peers, and for nodes that tests, simulations and measurements
    /// load.
    package static let none = CallerLimits()

    /// The defaults of `cumulusd`.
    ///
    /// 32 MiB per second are what a line of 270 Mbit/s brings, more than most devices send. An
    /// asset of 1 GiB takes half a minute.
    package static let standard = CallerLimits(
        callsPerSecond: 1_000,
        callsBurst: 5_000,
        bytesPerSecond: 32 << 20,
        callsAtOnce: 64
    )
}

/// How many types and fields the saves of one caller may add to an environment's schema, on one
/// node.
///
/// A number at once after a rest, and a hundredth of it per minute. Operators' imports don't count.
/// 0 means there is no limit.
package struct CallerGrowth: Hashable, Sendable {
    package var types: Int
    package var fields: Int

    package init(types: Int = 0, fields: Int = 0) {
        self.types = types
        self.fields = fields
    }

    package var isUnlimited: Bool { types == 0 && fields == 0 }

    package static let none = CallerGrowth()

    /// The defaults of `cumulusd`: more than an app has, and a fraction of what a schema may hold.
    package static let standard = CallerGrowth(types: 100, fields: 2_000)
}
