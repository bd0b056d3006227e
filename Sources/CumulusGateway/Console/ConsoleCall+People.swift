// The console's pages about users: their sessions, their shares, and servers' keys.

import CumulusModel
import CumulusWire

extension ConsoleCall {
    // MARK: Users

    /// With a container, users are shown with their record names in it.
    func users() async throws -> ConsoleReply {
        let scope = values.names("container") ? try self.scope() : .cluster
        let pages = try await ask(.operatorListUsers, in: scope) {
            try ListUsersResponse(wire: $0).elements
        }
        return .json([.init("users", .array(pages.flatMap { $0 }.map(ConsoleCall.json)))])
    }

    private static func json(_ user: WireUser) -> JSON {
        [
            "name": .string(user.name), "recordName": .string(user.recordName),
            "id": .string(user.id.hex), "created": .integer(user.created),
            "isDisabled": .bool(user.isDisabled),
        ]
    }

    func addUser() async throws -> ConsoleReply {
        let message = BytesRequest(try bytes("user")).encoded()
        let scope = values.names("container") ? try self.scope() : .cluster
        let answer = try await askOnce(.operatorAddUser, message, in: scope) {
            try AddUserResponse(wire: $0)
        }
        return .json([
            .init("user", ConsoleCall.json(answer.user)), .init("existed", .bool(answer.existed)),
        ])
    }

    func setUserState() async throws -> ConsoleReply {
        guard let isDisabled = try values.flag("isDisabled") else {
            throw WebError.badRequest("'isDisabled' is missing: true or false")
        }
        let request = SetUserStateRequest(user: try bytes("user"), isDisabled: isDisabled)
        return try await done(.operatorSetUserState, request.encoded())
    }

    private func done(_ method: Method, _ message: Bytes) async throws -> ConsoleReply {
        let isDone = try await askOnce(method, message) {
            try RevokeSessionsResponse(wire: $0).flag
        }
        return .json([.init("changed", .bool(isDone))])
    }

    func setPassword() async throws -> ConsoleReply {
        let request = SetPasswordRequest(
            user: try bytes("user"),
            password: try bytes("password")
        )
        _ = try await ask(.operatorSetPassword, request.encoded()) { $0 }
        return .json([])
    }

    /// A new access token, which is told this once.
    func addToken() async throws -> ConsoleReply {
        let message = BytesRequest(try bytes("user")).encoded()
        let token = try await askOnce(.operatorAddToken, message) {
            String(decoding: try AddTokenResponse(wire: $0).bytes, as: UTF8.self)
        }
        return .json([.init("accessToken", .string(token))])
    }

    func profile() async throws -> ConsoleReply {
        let message = ProfileRequest(try bytes("user")).encoded()
        let profile = try await askOnce(.accountsProfile, message) { try WireProfile(wire: $0) }
        let handles = profile.handles.map { handle -> JSON in
            [
                "kind": handle.kind == 2 ? "phone" : "email",
                "value": .string(String(decoding: handle.value, as: UTF8.self)),
                "verifiedBy": .string(handle.verifiedBy),
            ]
        }
        return .json([
            .init("displayName", .string(profile.displayName)),
            .init("isDiscoverable", .bool(profile.isDiscoverable)),
            .init("handles", .array(handles)),
        ])
    }

    // MARK: Sessions

    func sessions() async throws -> ConsoleReply {
        let message = SessionsRequest(try bytes("user")).encoded()
        let pages = try await ask(.accountsSessions, message) {
            try SessionsResponse(wire: $0).elements
        }
        let kinds = ["", "session", "access", "web"]
        let sessions = pages.flatMap { $0 }.map { session -> JSON in
            let number = Int(session.kind)
            let kind = number < kinds.count ? kinds[number] : ""
            return [
                "id": .string(session.id.hex), "kind": .string(kind),
                "label": .string(session.label),
                "device": .string(ConsoleCall.device(session.device)),
                "opened": .integer(session.opened), "expires": .integer(session.expires),
            ]
        }
        return .json([
            .init("sessions", .array(sessions)), .init("now", .integer(door.now)),
        ])
    }

    /// Clients choose any bytes; most choose text.
    private static func device(_ id: Bytes) -> String {
        let isText = id.allSatisfy { (0x20...0x7E).contains($0) }
        return isText ? String(decoding: id, as: UTF8.self) : id.hex
    }

    /// One session, or without `id` all of the user's.
    func revokeSessions() async throws -> ConsoleReply {
        var digest: Bytes = []
        if let text = try values.string("id") {
            guard let id = Bytes(hex: text) else {
                throw WebError.badRequest("'id' must be hexadecimal, as the list of sessions tells")
            }
            digest = id
        }
        let request = RevokeSessionsRequest(id: digest, user: try bytes("user"))
        return try await done(.accountsRevoke, request.encoded())
    }

    // MARK: Keys of servers

    func keys() async throws -> ConsoleReply {
        let pages = try await ask(.keysList, in: try scope()) {
            try ListKeysResponse(wire: $0).elements
        }
        let keys = pages.flatMap { $0 }.map { key -> JSON in
            [
                "id": .string((door.clusterID + key.id).hex), "label": .string(key.label),
                "created": .integer(key.created), "expires": .integer(key.expires),
                "recordName": .string(key.user),
            ]
        }
        return .json([.init("keys", .array(keys)), .init("now", .integer(door.now))])
    }

    func revokeKey() async throws -> ConsoleReply {
        let cluster = door.clusterID
        guard let id = Bytes(hex: try values.needed("id")), id.starts(with: cluster) else {
            throw WebError.badRequest("'id' is no key of this cluster; the list of keys tells ids")
        }
        let message = RevokeKeyRequest(Bytes(id.dropFirst(cluster.count))).encoded()
        return try await done(.keysRevoke, message)
    }

    // MARK: Shares

    func shares() async throws -> ConsoleReply {
        let request = ListSharesRequest(try bytes("user"))
        let pages = try await ask(.sharingList, request.encoded(), in: try scope()) {
            try ListSharesResponse(wire: $0).shares
        }
        let shares = pages.flatMap { $0 }.map { share -> JSON in
            let details = share.shareDetails.map { WebShare.members(of: $0, user: "") } ?? []
            return .object(
                [
                    .init("recordName", .string(share.recordID.recordName)),
                    .init("zone", .string(share.recordID.zoneID.zoneName)),
                    .init("url", .string(share.shareDetails?.url ?? "")),
                ] + details
            )
        }
        return .json([.init("shares", .array(shares))])
    }

    func stopShare() async throws -> ConsoleReply {
        let request = StopShareRequest(
            user: try bytes("user"),
            zone: try bytes("zone"),
            share: try bytes("share")
        )
        let existed = try await askOnce(.sharingStop, request.encoded(), in: try scope()) {
            try StopShareResponse(wire: $0).flag
        }
        return .json([.init("existed", .bool(existed))])
    }
}
