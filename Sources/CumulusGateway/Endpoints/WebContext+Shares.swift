// records/resolve and records/accept: what a share's URL leads to, and joining by it.

import CumulusModel
import CumulusWire

extension WebContext {
    /// - Parameter accepts: The caller joins; else it only looks, and needs no user if the share is
    ///   open to all.
    func resolveShares(accepts: Bool) async throws -> [JSON.Member] {
        if accepts, user.isEmpty { throw WebContext.userNeeded }
        let options = try WebRecordOptions(request)
        var results: [JSON] = []
        for item in try request.items("shortGUIDs") {
            let value = try item.needed("value")
            do {
                let found = try await metadata(item, value, accepts: accepts)
                results.append(json(found, value, options))
            } catch let error as ServiceError {
                let isUserNeeded = user.isEmpty && error.code == .notAuthenticated
                results.append(shareEntry(isUserNeeded ? signIn() : WebError(error), value))
            }
        }
        return [JSON.Member("results", .array(results))]
    }

    private func shareEntry(_ error: WebError, _ value: String) -> JSON {
        let subject = JSON.Member("shortGUID", ["value": .string(value)])
        return error.entry(subject, uuid: uuid)
    }

    /// Joining twice is no error, and tells the same as looking.
    private func metadata(
        _ item: WebObject,
        _ value: String,
        accepts: Bool
    ) async throws -> WireShareMetadata {
        let url = Bytes(value.utf8)
        let keys = try item.strings("rootRecordDesiredKeys")
        let wantsRoot = try item.flag("shouldFetchRootRecord") ?? false
        let look = ShareMetadataRequest(
            url: url,
            wantsRootRecord: wantsRoot,
            keys: keys?.map { Bytes($0.utf8) }
        )
        guard accepts else { return try await metadata(look) }
        let answer = try await calls.read(.sharingAccept, AcceptShareRequest(url).encoded())
        guard let first = answer.first else { throw WebContext.resultMissing }
        let joined = try WireShareMetadata(wire: first)
        if !wantsRoot { return joined }
        do {
            return try await metadata(look)
        } catch is ServiceError {
            // The caller has joined: an error would say that it has not.
            return joined
        }
    }

    private func metadata(_ look: ShareMetadataRequest) async throws -> WireShareMetadata {
        let answer = try await calls.read(.sharingMetadata, look.encoded())
        guard let first = answer.first else { throw WebContext.resultMissing }
        return try WireShareMetadata(wire: first)
    }

    private func json(
        _ found: WireShareMetadata,
        _ value: String,
        _ options: WebRecordOptions
    ) -> JSON {
        let zone = found.share.recordID.zoneID
        let isOwner = found.role == .owner
        let owner = found.share.shareDetails?.owner ?? ""
        let ownerName = WebZone.owner(owner, isOwner ? user : zone.ownerName)
        let writer = writer(options)
        var members = [
            JSON.Member("shortGUID", ["value": .string(value)]),
            JSON.Member("containerIdentifier", .string(route.scope.container)),
            JSON.Member("environment", .string(route.scope.environment.name)),
            JSON.Member("databaseScope", isOwner ? "PRIVATE" : "SHARED"),
            JSON.Member("zoneID", WebZone.json(zone, user: user)),
            JSON.Member("share", writer.json(found.share)),
            JSON.Member("ownerIdentity", ["userRecordName": .string(ownerName)]),
            JSON.Member("participantStatus", WebShare.status(found.status)),
            JSON.Member("participantPermission", WebShare.permission(found.permission)),
            JSON.Member("participantType", WebShare.type(found.role)),
        ]
        if let root = found.share.shareDetails?.root, !root.isEmpty {
            members.append(JSON.Member("rootRecordName", .string(root)))
        }
        if let root = found.rootRecord {
            members.append(JSON.Member("rootRecord", writer.json(root)))
        }
        return .object(members)
    }
}
