// One method of the protocol: how it is answered, what it needs, and what begins a call of it.
//
// The families of calls list their methods, and `MethodTable` looks them up. The forms of
// `MethodForms` make most of them.

import CumulusModel
import CumulusOperations
import CumulusWire

struct MethodEntry: Sendable {
    /// How an answer comes.
    enum Answer: Sendable {
        case message
        /// An answer takes as many messages as it needs.
        case parts
        /// An answer goes on until the caller cancels the call.
        case endlessParts
    }

    struct Needs: OptionSet, Sendable {
        let rawValue: UInt8

        /// The caller sends a request id, by which the change can be repeated safely.
        static let requestID = Needs(rawValue: 1)
        /// The caller has a user's token, or the operator's; the operation refuses others.
        static let token = Needs(rawValue: 2)
        /// The caller gives credit beyond what a call has from the beginning.
        static let credit = Needs(rawValue: 4)
        /// The caller is an operator.
        static let `operator` = Needs(rawValue: 8)
        /// The caller is another node of the cluster.
        static let peer = Needs(rawValue: 16)
        /// The audit log gets a line, however the call ends: a sign-in, an accepted share, or an
        /// act of an operator.
        static let audit = Needs(rawValue: 32)
        /// The call needs nothing of the cluster's state: a node that is joining answers it too.
        static let anyTime = Needs(rawValue: 64)
        static let act: Needs = [.operator, .audit]
    }

    typealias Handler = @Sendable (CallContext) throws -> Void

    let method: Method
    let answer: Answer
    let needs: Needs
    /// The caller may send messages after the first one.
    let takesMessages: Bool
    /// The message may fill a frame: it brings commits, which may be larger than requests.
    let takesCommits: Bool
    let begin: Handler

    init(
        _ method: Method,
        _ answer: Answer,
        _ needs: Needs = [],
        takesMessages: Bool = false,
        takesCommits: Bool = false,
        begin: @escaping Handler
    ) {
        self.method = method
        self.answer = answer
        self.needs = needs
        self.takesMessages = takesMessages
        self.takesCommits = takesCommits
        self.begin = begin
    }

    /// Refuses callers whom the method is not for.
    func checkCaller(_ identity: Identity) throws(ServiceError) {
        guard identity.isPeer == needs.contains(.peer) else {
            throw ServiceError(
                .permissionFailure,
                "this call is for \(identity.isPeer ? "clients" : "nodes of the cluster") only"
            )
        }
        guard !needs.contains(.operator) || identity.caller.role == .operator else {
            throw ServiceError(
                .permissionFailure,
                "only an operator may do that; connect with the node's operator token"
            )
        }
    }
}
