// The calls on callers: who the caller is; and for operators the containers, users and tokens of
// the cluster.
//
// `MethodTable` lists them.

import CumulusModel
import CumulusOperations
import CumulusRequests
import CumulusStorage
import CumulusWire

enum AccountCalls {
    static let methods: [MethodEntry] = [
        .init(.accountsWhoAmI, .message, begin: whoAmI),
        .init(
            .operatorListContainers,
            .parts,
            .operator,
            parse: unread,
            read: listContainers,
            encode: { names, _ in ListContainersResponse(names).encoded() }
        ),
        .init(
            .operatorCreateContainer,
            .message,
            .act,
            parse: decoded { try CreateContainerRequest(wire: $0).bytes },
            change: createContainer,
            encode: oneMessage { CreateContainerResponse($0).encoded() }
        ),
        .init(
            .operatorListUsers,
            .parts,
            .operator,
            parse: decoded { try ListUsersRequest(wire: $0).bytes },
            read: listUsers,
            encode: { users, _ in ListUsersResponse(users).encoded() }
        ),
        .init(
            .operatorAddUser,
            .message,
            .act,
            parse: decoded { try AddUserRequest(wire: $0).bytes },
            change: addUser,
            encode: added
        ),
        .init(
            .operatorAddToken,
            .message,
            .act,
            parse: decoded { try AddTokenRequest(wire: $0).bytes },
            change: addToken,
            encode: oneMessage { AddTokenResponse($0).encoded() }
        ),
    ]

    private static func whoAmI(_ context: CallContext) {
        let role = context.caller.role == .operator ? WireRole.operator : .client
        let caller = WireCaller(role: role.rawValue, user: context.caller.user)
        context.finish([WhoAmIResponse(caller).encoded()])
    }

    // MARK: Containers

    private static func listContainers(
        _: Void,
        _ context: CallContext
    ) -> Reading<ArraySlice<String>>? {
        .onDisk(in: .cluster) { Part(list: try Containers.all(in: $0.reader)[...]) }
    }

    private static func createContainer(
        _ raw: Bytes,
        _ context: CallContext
    ) throws -> CreateContainer {
        let name = try Names.checkIdentifier(raw[...], "container")
        context.concerns(name)
        return CreateContainer(name)
    }

    // MARK: Users

    private static func listUsers(
        _ raw: Bytes,
        _ context: CallContext
    ) throws -> Reading<ArraySlice<WireUser>>? {
        let name = try raw.isEmpty ? nil : Names.checkIdentifier(raw[...], "user name")
        let container = try container(context.header)
        return .onDisk(in: .cluster) { context in
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
            return Part(list: users[...])
        }
    }

    private static func addUser(_ raw: Bytes, _ context: CallContext) throws -> AddUser {
        let name = try Names.checkNewUserName(raw)
        // Its answer names it.
        _ = try container(context.header)
        context.concerns(name)
        var dice = NodeDice(context.node.environment)
        return AddUser(name: name, id: dice.bytes(16))
    }

    private static func added(
        _ added: AddUser.Outcome,
        _ raw: Bytes,
        _ context: CallContext
    ) -> [Bytes] {
        let container = (try? container(context.header)) ?? nil
        // Only a list says who is kept out.
        let user = WireUser(added.user, in: container, isDisabled: false)
        return [AddUserResponse(user: user, existed: added.existed).encoded()]
    }

    private static func addToken(_ raw: Bytes, _ context: CallContext) throws -> AddToken {
        let name = try Names.checkIdentifier(raw[...], "user name")
        context.concerns(name)
        var dice = NodeDice(context.node.environment)
        return AddToken(dice.accessToken(), user: name)
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
