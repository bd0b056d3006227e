// What the calls of a client have seen, as the nodes told it: the newest token of each node.
//
// Kept by `ClientCore`. A call carries the tokens of other nodes than the one that it goes to; when
// that one has answered, its own token covers them. hot: asked once per call.

import CumulusModel

struct SeenTokens: Sendable {
    /// By the run of the node that told it.
    private var own: [UInt64: Bytes] = [:]
    /// From another client.
    private var foreign: [Bytes]

    init(_ session: [Bytes]) {
        foreign = session
    }

    var all: [Bytes] { foreign + own.sorted { $0.key < $1.key }.map(\.value) }

    /// What a call to that run of a node has to carry.
    func tokens(for run: UInt64) -> [Bytes] {
        // Nearly always one node answers all calls.
        if foreign.isEmpty, own.count <= 1, own.keys.first ?? run == run { return [] }
        return foreign + own.filter { $0.key != run }.values
    }

    mutating func join(_ session: [Bytes]) {
        let known = all
        foreign += session.filter { !known.contains($0) }
    }

    mutating func note(_ token: Bytes, of run: UInt64) {
        own[run] = token
    }

    /// That run of a node answered a call that carried these: its own token covers them.
    ///
    /// That one stays, also where it is one of them, since nothing was committed there meanwhile.
    mutating func forget(_ tokens: [Bytes], coveredBy run: UInt64) {
        foreign.removeAll { tokens.contains($0) }
        own = own.filter { $0.key == run || !tokens.contains($0.value) }
    }
}
