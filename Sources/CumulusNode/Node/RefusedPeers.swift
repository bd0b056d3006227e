// Limits the log lines about nodes that can't be peers to one for each address and hour.
//
// `Node` owns it. Such nodes try again and again, and any client may claim to be one, from any
// address. Strangers can neither fill the log nor suppress a line about a node that this one was
// told to connect to.

import CumulusWire

struct RefusedPeers {
    static let pauseMilliseconds: Int64 = 3_600_000
    /// Addresses in an hour that others only claim to have.
    static let mostStrangers = 64

    /// How an address came to be known.
    enum Origin: Hashable {
        /// This node connects to it.
        case dialled
        /// A caller says that it is its own.
        case claimed
    }

    private struct Peer: Hashable {
        var endpoint: String
        var origin: Origin
    }

    private var told: [Peer: Instant] = [:]

    /// Whether to tell of a node now; from then on it was told of.
    mutating func isNews(_ endpoint: String, _ origin: Origin, now: Instant) -> Bool {
        told = told.filter { now < $0.value + RefusedPeers.pauseMilliseconds }
        let peer = Peer(endpoint: endpoint, origin: origin)
        guard told[peer] == nil else { return false }
        if origin == .claimed {
            let strangers = told.keys.count { $0.origin == .claimed }
            guard strangers < RefusedPeers.mostStrangers else { return false }
        }
        told[peer] = now
        return true
    }
}
