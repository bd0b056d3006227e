// The network seam: what carries bytes between connections, and what the two sides may assume about
// each other.
//
// CumulusTransport implements it over sockets; a simulated network can drive the same handlers.
// Everything on a handler is a plain call on its connection's loop, one at a time; nothing here
// waits.

package import CumulusModel

/// One end of a connection, as a transport drives it.
///
/// After each call the transport calls `turnEnded` once, when all that arrived together was handed
/// over, and writes what it returns in one go. After `closed` nothing is called any more.
package protocol FrameHandler: AnyObject {
    func received(_ bytes: UnsafeRawBufferPointer, now: Instant)
    func turnEnded(now: Instant) -> Turn
    /// The `wake` of the last turn has come.
    func timePassed(now: Instant)
    /// So many bytes of earlier turns wait for the socket now.
    func writing(_ pendingBytes: Int, now: Instant)
    func closed()
}

/// What a handler wants at the end of a turn.
package struct Turn: Sendable {
    package var output: FrameOutput
    /// When `timePassed` is to be called; nil means never.
    package var wake: Instant?
    /// Close once the output has left.
    package var closes: Bool
    /// False: take no more bytes from the socket for now.
    package var isReading: Bool

    package init(output: FrameOutput, wake: Instant?, closes: Bool, isReading: Bool = true) {
        self.output = output
        self.wake = wake
        self.closes = closes
        self.isReading = isReading
    }
}

/// A thread of control that runs handlers.
///
/// Callable from everywhere.
package protocol FrameLoop: AnyObject, Sendable {
    /// Runs work on the loop, after what is queued there.
    func execute(_ work: @escaping @Sendable () -> Void)
}

/// A handler's way back to its connection.
///
/// `loop` is callable from everywhere, the rest only on the loop.
package protocol FrameLink: AnyObject, Sendable {
    var loop: any FrameLoop { get }
    /// The other side is on this machine.
    var isLoopback: Bool { get }
    /// The other side's IP address, 4 or 16 bytes; empty if it has none.
    var remoteAddress: Bytes { get }
    /// Over TLS: SHA-256 of the listener's certificate (DER); empty over plain TCP.
    var certificate: Bytes { get }
    /// Something happened outside a read: end a turn soon. Several calls make one turn.
    func needsTurn()
}

/// Makes the handler of a new connection, on its loop.
package typealias MakeFrameHandler = @Sendable (any FrameLink, Instant) -> any FrameHandler

package protocol FrameListener: Sendable {
    /// Accepts connections until it is told to stop. Returns the address that was bound, e.g.
    /// "127.0.0.1:7420".
    func start(_ make: @escaping MakeFrameHandler) async throws -> String
    /// Accepts no further connections; those that exist go on.
    func stopAccepting() async
    /// Closes what is left and ends the loops.
    func stop() async throws
}

package protocol FrameDialer: Sendable {
    /// Connects to "host:port".
    func connect(to endpoint: String, _ make: @escaping MakeFrameHandler) async throws
}
