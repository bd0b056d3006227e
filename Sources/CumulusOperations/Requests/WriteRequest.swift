// A change that somebody asks for, in the writer's queue.
//
// Made by the node from a call; run by the writer inside a group commit. It enforces the rules of
// all changes: its caller may still come in, its scope exists, and only an operator may ask for
// some of them.
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
    /// The credential of the caller, which the writer may check again; nil if the caller has none.
    package var credential: Credential?
    /// The id of the request; nil for a change that is not remembered, and may be made twice.
    package var requestID: RequestID?
    /// A digest of the request's content, 16 bytes.
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

    /// A digest that tells two requests with the same id from each other.
    ///
    /// - Parameter method: The number of the call that asks for the change.
    package static func digest(of content: Bytes, method: UInt32) -> Bytes {
        var hash = SHA256()
        withUnsafeBytes(of: method.bigEndian) { hash.update(bufferPointer: $0) }
        hash.update(data: content)
        return Bytes(hash.finalize().prefix(16))
    }

    /// Why the caller may no longer come in, as far as this batch knows; nil if it may.
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

    /// Keys that the change will probably ask for, see `Change`.
    package func likelyRows(
        in transaction: borrowing WriteTransaction
    ) throws(EngineError) -> [RowKey] {
        try change.likelyRows(for: asker, in: transaction)
    }

    /// Makes the change; returns the answer, and whether the writes are kept.
    package func run(
        in transaction: inout WriteTransaction
    ) throws(EngineError) -> (Result<Asked.Outcome, ServiceError>, keep: Bool) {
        if let refusal = try asker.refusal(in: transaction) { return (.failure(refusal), false) }
        guard let scope = try Asked.find(asker.scope, in: &transaction) else {
            return (.failure(try Containers.missing(asker.scope.container, in: transaction)), false)
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
