// The calls on callers: who the caller is; and for operators the containers, users and tokens of
// the cluster.
//
// Called through `MethodTable`.

import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusWire

enum AccountCalls {
    static func whoAmI(_ context: CallContext) {
        let role = context.caller.role == .operator ? WireRole.operator : .client
        let caller = WireCaller(role: role.rawValue, user: context.caller.user)
        context.finish([caller.encoded()])
    }

    // MARK: Containers

    static func listContainers(_ context: CallContext) throws {
        try context.readFromDisk(in: .cluster) { context in
            let containers = try Containers.all(in: context.reader)
            return Page(containers[...], encode: OperatorMessages.containers)
        }
    }

    static func createContainer(_ context: CallContext) throws {
        let raw = try OperatorMessages.containerName(wire: context.message)
        let name = try Names.checkIdentifier(raw[...], "container")
        context.concerns(name)
        context.change(CreateContainer(name)) { [OperatorMessages.container(existed: $0)] }
    }

    // MARK: Users

    static func listUsers(_ context: CallContext) throws {
        let raw = try OperatorMessages.listedUserName(wire: context.message)
        let name = try raw.isEmpty ? nil : Names.checkIdentifier(raw[...], "user name")
        let container = try container(context.header)
        try context.readFromDisk(in: .cluster) { context in
            let found =
                if let name {
                    try Users.find(name, in: context.reader).map { [$0] } ?? []
                } else {
                    try Users.all(in: context.reader)
                }
            let users = try found.map { user in
                let isDisabled = try Users.isDisabled(user, in: context.reader)
                return WireUser(user, in: container, isDisabled: isDisabled)
            }
            return Page(users[...], encode: OperatorMessages.users)
        }
    }

    static func addUser(_ context: CallContext) throws {
        let raw = try OperatorMessages.newUserName(wire: context.message)
        let name = try Names.checkNewUserName(raw)
        let container = try container(context.header)
        context.concerns(name)
        var dice = NodeDice(context.node.environment)
        context.change(AddUser(name: name, id: dice.bytes(16))) { added in
            // Only a list says who is kept out.
            let wire = WireUser(added.user, in: container, isDisabled: false)
            return [OperatorMessages.user(wire, existed: added.existed)]
        }
    }

    static func addToken(_ context: CallContext) throws {
        let raw = try OperatorMessages.tokenUserName(wire: context.message)
        let name = try Names.checkIdentifier(raw[...], "user name")
        context.concerns(name)
        var dice = NodeDice(context.node.environment)
        let token = dice.accessToken()
        context.change(AddToken(token, user: name)) { [OperatorMessages.token(token)] }
    }

    /// The container in which users' record names are wanted; nil: the answer goes without them.
    private static func container(_ header: CallHeader) throws(ServiceError) -> String? {
        if header.container.isEmpty { return nil }
        return try Names.checkIdentifier(header.container[...], "container")
    }
}

extension WireUser {
    fileprivate init(_ user: Users.User, in container: String?, isDisabled: Bool) {
        self.init(
            name: user.name,
            id: user.id,
            created: user.created,
            recordName: container.map { user.recordName(in: $0) } ?? "",
            isDisabled: isDisabled
        )
    }
}
