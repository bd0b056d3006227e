// The calls on service keys, for operators: register, list, revoke.
//
// Called through `MethodTable`. They are about the scope that the call's header names.

import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusWire

enum KeyCalls {
    static func list(_ context: CallContext) throws {
        let scope = try context.scope()
        try context.readFromDisk { context in
            let keys = try ServiceKeys.all(of: scope, in: context.reader)
            return Page(keys.map(WireServiceKey.init)[...], encode: WireServiceKey.answer)
        }
    }

    static func add(_ context: CallContext) throws {
        let request = try AddKeyRequest(wire: context.message)
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
        context.change(AddServiceKey(key)) { added in
            let key = WireServiceKey(added.key)
            return [AddKeyResponse(key: key, existed: added.existed).encoded()]
        }
    }

    static func revoke(_ context: CallContext) throws {
        let id = try RevokeKey.id(wire: context.message)
        guard id.count == ServiceKeys.idBytes else {
            throw ServiceError(
                .invalidArguments,
                .invalidValue,
                "a key's id has \(ServiceKeys.idBytes) bytes, and not \(id.count); list the keys"
            )
        }
        context.concerns(target(id, "", context.node))
        context.change(RevokeServiceKey(id)) { ended in
            context.concerns(target(id, ended.label, context.node))
            if !ended.existed { context.concernsNothing() }
            return [RevokeKey.answer(existed: ended.existed)]
        }
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
