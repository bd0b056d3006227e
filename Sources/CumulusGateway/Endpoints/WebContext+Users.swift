// users/caller, users/current, users/signout, users/discover and the older users/lookup.

import CumulusModel
import CumulusWire

extension WebContext {
    /// The identity at the top level, as most clients read it, and in a list, as it is described.
    func identity() throws(WebError) -> [JSON.Member] {
        guard !user.isEmpty else { throw WebContext.userNeeded }
        let name = JSON.Member("userRecordName", .string(user))
        if route.endpoint == .usersCurrent { return [name] }
        return [name, JSON.Member("users", .array([.object([name])]))]
    }

    /// Ends the session with which the caller came; its tokens are good no more.
    func signOut() async throws -> [JSON.Member] {
        let messages = try await calls.read(.accountsSessions, SessionsRequest([]).encoded())
        let sessions = try messages.flatMap { try SessionsResponse(wire: $0).elements }
        guard let session = sessions.first(where: \.isThis) else { throw WebContext.userNeeded }
        let request = RevokeSessionsRequest(id: session.id)
        _ = try await calls.read(.accountsRevoke, request.encoded())
        return []
    }

    /// One user that is looked for.
    private struct LookUp {
        var key: String
        var value: String

        /// nil: by its record name, which is no handle.
        var handle: WireHandle? {
            switch key {
            case "emailAddress": WireHandle(kind: 1, value: Bytes(value.utf8))
            case "phoneNumber": WireHandle(kind: 2, value: Bytes(value.utf8))
            default: nil
            }
        }
    }

    /// Users who want to be found, by their addresses and record names; the caller by its own name.
    ///
    /// Contacts are on no server, so none is found by them.
    func discoverUsers() async throws -> [JSON.Member] {
        let key = route.endpoint == .usersDiscover ? "lookupInfos" : "users"
        guard request.names(key) else { return [JSON.Member("users", .array([]))] }
        var lookUps: [LookUp] = []
        for item in try request.items(key) {
            let names = ["emailAddress", "phoneNumber", "userRecordName"]
            let given = names.filter { item[$0] != nil }
            guard given.count == 1, let name = given.first else {
                throw WebError.badRequest(
                    "'\(item.path)' must have one of emailAddress, phoneNumber and userRecordName"
                )
            }
            lookUps.append(LookUp(key: name, value: try item.needed(name)))
        }
        var entries: [JSON] = []
        var rest = lookUps[...]
        while !rest.isEmpty {
            let part = rest.prefix(WebContext.handlesPerCall)
            rest = rest.dropFirst(part.count)
            entries += zip(part, try await discover(part)).map { entry($0, $1) }
        }
        return [JSON.Member("users", .array(entries))]
    }

    /// The users in the order of the look-ups; nil for users who are not found, and for the caller.
    private func discover(_ lookUps: ArraySlice<LookUp>) async throws -> [DiscoveredUser?] {
        let others = lookUps.filter { !isOwn($0) }
        let names = others.filter { $0.handle == nil }.map { Bytes($0.value.utf8) }
        let request = DiscoverRequest(handles: others.compactMap(\.handle), users: names)
        var found: [DiscoveredUser] = []
        if !others.isEmpty {
            for answer in try await calls.read(.accountsDiscover, request.encoded()) {
                found += try DiscoverResponse(wire: answer).elements
            }
        }
        guard found.count == others.count else { throw WebContext.resultMissing }
        // The node tells of handles first.
        var held = found[..<request.handles.count]
        var named = found[request.handles.count...]
        return lookUps.map { lookUp in
            if isOwn(lookUp) { return nil }
            let user = lookUp.handle == nil ? named.popFirst() : held.popFirst()
            return user?.user.isEmpty == false ? user : nil
        }
    }

    /// Whether it is the caller's record name.
    private func isOwn(_ lookUp: LookUp) -> Bool {
        lookUp.key == "userRecordName" && lookUp.value == user
    }

    private static let handlesPerCall = 100

    private func entry(_ lookUp: LookUp, _ user: DiscoveredUser?) -> JSON {
        let info: JSON = .object([JSON.Member(lookUp.key, .string(lookUp.value))])
        guard let name = isOwn(lookUp) ? self.user : user?.user else {
            let error = WebError(.notFound, "no user who wants to be found has that")
            return error.entry(JSON.Member("lookupInfo", info), uuid: uuid)
        }
        var members = [
            JSON.Member("userRecordName", .string(name)),
            JSON.Member("lookupInfo", info),
        ]
        if let name = user?.displayName, !name.isEmpty {
            members.append(JSON.Member("nameComponents", ["givenName": .string(name)]))
        }
        if lookUp.key == "emailAddress", route.endpoint == .usersLookupEmail {
            members.append(JSON.Member("emailAddress", .string(lookUp.value)))
        }
        return .object(members)
    }
}
