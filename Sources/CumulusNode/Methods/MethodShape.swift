// What a door in the same process has to know of a method to offer it: how its messages go, and
// whom it is for.
//
// Taken from `MethodTable` by CumulusGRPC, which offers each method at a path of its own. Methods
// between nodes are left out.

package import CumulusWire

/// A method for users or operators, as a door sees it.
package struct MethodShape: Sendable {
    package let method: Method
    /// An answer takes as many messages as it needs, perhaps without an end.
    package let answersInParts: Bool
    /// The caller sends messages after the first one.
    package let takesMessages: Bool
    /// Only operators may call it.
    package let isForOperators: Bool
    /// A call needs a request id, by which it can be repeated safely.
    package let needsRequestID: Bool

    init(_ entry: MethodEntry) {
        method = entry.method
        takesMessages = entry.takesMessages
        isForOperators = entry.needs.contains(.operator)
        needsRequestID = entry.needs.contains(.requestID)
        switch entry.answer {
        case .message: answersInParts = false
        case .parts, .endlessParts: answersInParts = true
        }
    }
}

extension Node {
    /// The methods for users and operators, by their numbers.
    package static let methods: [MethodShape] = MethodTable.entries
        .filter { !$0.needs.contains(.peer) }
        .map(MethodShape.init)
}
