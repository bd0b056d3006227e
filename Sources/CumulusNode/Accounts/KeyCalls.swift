// The calls on service keys, for operators: register, list, revoke.
//
// `MethodTable` lists them. They are about the scope that the call's header names.

import CumulusModel
import CumulusOperations
import CumulusRequests
import CumulusStorage
import CumulusWire

enum KeyCalls {
    static let methods: [MethodEntry] = [
        .init(
            .keysList,
            .parts,
            .operator,
            parse: unread,
            read: list,
            encode: { keys, _ in ListKeysResponse(keys).encoded() }
        ),
        .init(
            .keysAdd,
            .message,
            .act,
            parse: decoded(AddKeyRequest.init(wire:)),
            change: add,
            encode: oneMessage { added in
                AddKeyResponse(key: WireServiceKey(added.key), existed: added.existed).encoded()
            }
        ),
        .init(
            .keysRevoke,
            .message,
            .act,
            parse: decoded { try RevokeKeyRequest(wire: $0).bytes },
            change: revoke,
            encode: revoked
        ),
    ]

    private static func list(
        _: Void,
        _ context: CallContext
    ) throws -> Reading<ArraySlice<WireServiceKey>>? {
        let scope = try context.scope()
        return .onDisk { context in
            let keys = try ServiceKeys.all(of: scope, in: context.reader)
            return Part(list: keys.map(WireServiceKey.init)[...])
        }
    }

    private static func add(
        _ request: AddKeyRequest,
        _ context: CallContext
    ) throws -> AddServiceKey {
        try ServiceKeys.check(publicKey: request.publicKey)
        let now = context.node.environment.wallClock()
        guard request.expires == 0 || request.expires > now else {
            throw ServiceError(
                .invalidArguments,
                .invalidValue,
                "the key would have expired already; name a later time, or none"
            )
        }
        let label =
            request.label.isEmpty
            ? "" : try Names.checkText(Bytes(request.label.utf8)[...], "label")
        let key = ServiceKeys.Key(
            publicKey: request.publicKey,
            scope: try context.scope(),
            label: label,
            expires: request.expires
        )
        context.concerns(target(key.id, label, context.node))
        return AddServiceKey(key)
    }

    private static func revoke(_ id: Bytes, _ context: CallContext) throws -> RevokeServiceKey {
        guard id.count == ServiceKeys.idBytes else {
            throw ServiceError(
                .invalidArguments,
                .invalidValue,
                "a key's id has \(ServiceKeys.idBytes) bytes, and not \(id.count); list the keys"
            )
        }
        context.concerns(target(id, "", context.node))
        return RevokeServiceKey(id)
    }

    private static func revoked(
        _ ended: RevokeServiceKey.Outcome,
        _ id: Bytes,
        _ context: CallContext
    ) -> [Bytes] {
        context.concerns(target(id, ended.label, context.node))
        if !ended.existed { context.concernsNothing() }
        return [RevokeKeyResponse(ended.existed).encoded()]
    }

    /// The target of a line in the audit log.
    private static func target(_ id: Bytes, _ label: String, _ node: Node) -> String {
        "key \(node.text(ofKey: id))" + (label.isEmpty ? "" : ": \(label)")
    }
}

extension WireServiceKey {
    fileprivate init(_ key: ServiceKeys.Key) {
        self.init(
            id: key.id,
            publicKey: key.publicKey,
            label: key.label,
            created: key.created,
            expires: key.expires,
            user: key.recordName
        )
    }
}
