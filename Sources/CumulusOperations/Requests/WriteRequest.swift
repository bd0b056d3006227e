// A change that somebody asks for, as the writer takes it from its queue.
//
// Made by the node from a call; run by the writer inside a group commit. What holds for every
// change is decided here: whether its caller may still come in, whether its scope is there, and
// whether only an operator may ask for it.
//
// Folder: what every request has: a change, a caller, addresses, an answer that can be repeated.
// Read `Change` and `WriteRequest`, then `RememberedChange`, `DoneElsewhere` and `Addresses`.

import Crypto
package import CumulusModel
package import CumulusStorage

/// Who asks for a change, where, and under which id.
package struct Asker: Sendable {
    package var scope: ScopeID
    package var caller: Caller
    /// What the caller showed, which the writer may judge again; nil unless it is a user.
    package var credential: Credential?
    /// nil for a change that is not remembered: to make it again is harmless.
    package var requestID: RequestID?
    /// 16 bytes over the request's content.
    package var digest: Bytes

    package init(
        scope: ScopeID,
        caller: Caller,
        credential: Credential? = nil,
        requestID: RequestID? = nil,
        digest: Bytes = []
    ) {
        self.scope = scope
        self.caller = caller
        self.credential = credential
        self.requestID = requestID
        self.digest = digest
    }

    /// What tells a request with some content from another one with the same id.
    ///
    /// - Parameter method: The number of the call that asks for it.
    package static func digest(of content: Bytes, method: UInt32) -> Bytes {
        var hash = SHA256()
        withUnsafeBytes(of: method.bigEndian) { hash.update(bufferPointer: $0) }
        hash.update(data: content)
        return Bytes(hash.finalize().prefix(16))
    }

    /// Why the caller may not come in any more, as far as this batch knows; nil if it may.
    fileprivate func refusal(
        in transaction: borrowing WriteTransaction
    ) throws(EngineError) -> ServiceError? {
        let epoch = transaction.state.accountsVersion
        guard let credential, credential.epoch != epoch else { return nil }
        let judged = try credential.judged(at: epoch, now: transaction.now, in: transaction)
        return judged == nil ? credential.refusal : nil
    }
}

package struct WriteRequest<Asked: Change>: Sendable {
    package var change: Asked
    package var asker: Asker

    package init(_ change: Asked, for asker: Asker) {
        self.change = change
        self.asker = asker
    }

    /// Makes the change; the answer, and whether what was written is to stay.
    package func run(
        in transaction: inout WriteTransaction
    ) throws(EngineError) -> (Result<Asked.Outcome, ServiceError>, keep: Bool) {
        if let refusal = try asker.refusal(in: transaction) { return (.failure(refusal), false) }
        guard let scope = try Asked.find(asker.scope, in: &transaction) else {
            return (.failure(Containers.unknown(asker.scope.container)), false)
        }
        if Asked.isOperators, asker.caller.role != .operator {
            let refusal = ServiceError(.permissionFailure, "only an operator may do this")
            return (.failure(refusal), false)
        }
        return try change.perform(for: asker, in: scope, &transaction)
    }
}

extension WriteRequest where Asked: ContainerChange {
    package init(
        _ change: Asked,
        scope: ScopeID,
        caller: Caller,
        credential: Credential? = nil,
        requestID: RequestID? = nil,
        digest: Bytes = []
    ) {
        let asker = Asker(
            scope: scope,
            caller: caller,
            credential: credential,
            requestID: requestID,
            digest: digest
        )
        self.init(change, for: asker)
    }
}

extension WriteRequest where Asked: ClusterChange {
    package init(_ change: Asked, caller: Caller, credential: Credential? = nil) {
        self.init(change, for: Asker(scope: .cluster, caller: caller, credential: credential))
    }
}
