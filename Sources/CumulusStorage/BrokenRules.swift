// Rules of replication that a simulation can break, to see that its checkers notice.
//
// Always empty in a node. The other rules are broken by the simulation itself, which then doesn't
// do what a node does.

package struct BrokenRules: OptionSet, Hashable, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// Of two writes of one millisecond the one that arrives last stands.
    package static let ties = BrokenRules(rawValue: 1)
    /// A commit that changes nothing leaves no trace in the frontier.
    package static let frontier = BrokenRules(rawValue: 2)
    /// A node that reads state from below a zone's horizon takes only what changed.
    package static let peerHorizon = BrokenRules(rawValue: 4)
    /// What is forgotten does not raise the zone's horizon.
    package static let raisedHorizon = BrokenRules(rawValue: 8)
    /// A life that a donor knows to be dead goes on in a full sync.
    package static let knownDeaths = BrokenRules(rawValue: 16)
    /// Children whose owner was deleted elsewhere stay.
    package static let compensation = BrokenRules(rawValue: 32)
}
