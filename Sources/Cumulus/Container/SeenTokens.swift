// The newest token of each node: together they cover what a client's calls have seen.
//
// Connections note tokens and calls carry them. A call to a node carries the tokens of the other
// nodes; the token of its answer then covers them. hot: asked once per call.

import CumulusModel
import Synchronization

struct SeenTokens: Sendable {
    /// The source of a token: a run of a node, and the connection.
    ///
    /// The slower of two connections to one node may bring an older token later, and only nodes can
    /// tell which is newer.
    private struct Source: Hashable {
        let run: UInt64
        let connection: UInt64
    }

    private struct Told {
        var token: Bytes
        /// Connections that were begun from this one on are younger than all that this one brought;
        /// nil means it goes on.
        var end: UInt64?
    }

    private var own: [Source: Told] = [:]
    /// Tokens from another client.
    private var foreign: [Bytes]

    init(_ session: [Bytes]) {
        foreign = session
    }

    var all: [Bytes] {
        let sources = own.keys.sorted { ($0.run, $0.connection) < ($1.run, $1.connection) }
        return unique(foreign + sources.compactMap { own[$0]?.token })
    }

    /// The tokens that a call to that run of a node has to carry.
    func tokens(for run: UInt64) -> [Bytes] {
        // Nearly always one node answers all calls.
        if foreign.isEmpty, own.keys.allSatisfy({ $0.run == run }) { return [] }
        return unique(foreign + own.filter { $0.key.run != run }.values.map(\.token))
    }

    mutating func join(_ session: [Bytes]) {
        let known = all
        foreign += session.filter { !known.contains($0) }
    }

    /// - Parameter connection: A number that is greater for a connection that was begun later.
    mutating func note(_ token: Bytes, of run: UInt64, over connection: UInt64) {
        let source = Source(run: run, connection: connection)
        if own[source] == nil {
            own = own.filter { $0.key.run != run || $0.value.end ?? .max > connection }
        }
        own[source] = Told(token: token)
    }

    /// A connection is over; those from `next` on are begun after that.
    mutating func end(_ connection: UInt64, before next: UInt64) {
        for source in own.keys where source.connection == connection { own[source]?.end = next }
    }

    /// Forgets the tokens of a call that a run has answered: its own token covers them.
    ///
    /// The run's own token stays, even if it is one of them, since nothing was committed there
    /// meanwhile.
    mutating func forget(_ tokens: [Bytes], coveredBy run: UInt64) {
        foreign.removeAll { tokens.contains($0) }
        own = own.filter { $0.key.run == run || !tokens.contains($0.value.token) }
    }

    private func unique(_ tokens: [Bytes]) -> [Bytes] {
        var known: Set<Bytes> = []
        return tokens.filter { known.insert($0).inserted }
    }
}

/// The same, for all connections and calls of a client.
final class CommonTokens: Sendable {
    let tokens: Mutex<SeenTokens>

    init(_ session: [Bytes]) { tokens = Mutex(SeenTokens(session)) }
}
