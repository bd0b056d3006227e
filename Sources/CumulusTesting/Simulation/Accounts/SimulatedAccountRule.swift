// The rules of accounts and roles that a simulation can break on purpose, one at a time.
//
// Drawn on by `cumulus-sim --accounts --break`: each has to make its check fail. Those of registers
// are broken in the stores, where the newest write stands then; the others by the simulation
// itself, which then does something else than a node.

import CumulusStorage

package enum SimulatedAccountRule: String, CaseIterable, Sendable {
    /// A session holds the password's version, and ends with it.
    case version
    /// A revocation is a register of its own that is never unset.
    case apart
    /// "End all sessions" raises a generation, and does not revoke only what is known where it is
    /// done.
    case generations
    /// The state of a user is a number that each change raises.
    case number
    /// An assigned role is a number that each change raises; at equal numbers it is taken away.
    case role
    /// Passwords and tokens are kept by user id, not by name.
    case ids
    /// The first to register a name keeps it.
    case first
    /// An operator's password stands over one that its user sets without having heard of it.
    case `operator`

    /// The check that has to notice.
    package var check: String {
        switch self {
        case .version, .apart, .generations: "A1"
        case .number: "A3"
        case .role: "A4"
        case .operator: "A5"
        case .ids: "A6"
        case .first: "name"
        }
    }

    /// Registers of which the newest write stands.
    var registers: Set<String> {
        switch self {
        case .version, .generations, .ids: []
        case .apart: [AccountRegister.revoked]
        case .number: [AccountRegister.state]
        case .role: [RoleAssignment.namespace]
        case .first: [AccountRegister.user]
        case .operator: [AccountRegister.password]
        }
    }
}
