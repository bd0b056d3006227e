// Makes the links and receipts that one request hands out, and opens the receipts that it brings.
//
// Made by `WebGateway` for each request.

import CumulusModel

package struct WebLinks: Sendable {
    let door: any WebDoor
    let access: WebAccess
    /// The prefix of links: scheme, host, and the path that a proxy adds.
    let base: String
    /// A causal token of what the answer shows.
    var seen: @Sendable () -> Bytes? = { nil }

    func url(toUpload zone: RecordZone.ID?) -> String { url(.upload(zone: zone), seen: nil) }

    /// nil if it was not read from a record's field.
    func url(toDownload asset: Asset) -> String? {
        guard let place = asset.place else { return nil }
        return url(.download(asset, record: place.recordID, field: place.key), seen: seen())
    }

    private func url(_ purpose: WebLink.Purpose, seen: Bytes?) -> String {
        let link = WebLink(access, made: door.now, purpose, seen: seen)
        return base + WebLink.path + Base64URL.encode(door.seal(link.content))
    }

    // MARK: Receipts

    private func receipt(
        of asset: Asset,
        for user: String,
        in zone: RecordZone.ID?,
        isUpload: Bool
    ) -> String {
        let receipt = UploadReceipt(
            of: asset,
            in: access.scope,
            access.database,
            of: owner(of: zone),
            by: user,
            made: door.now,
            isUpload: isUpload
        )
        return Base64URL.encode(door.seal(receipt.content))
    }

    /// The owner of the database that holds the assets of a zone, as receipts name it.
    private func owner(of zone: RecordZone.ID?) -> String {
        access.database == .shared ? zone?.ownerName ?? "" : ""
    }

    /// The asset that a receipt stands for; nil if the receipt is not good for a zone's records.
    func asset(of receipt: String, for user: String, in zone: RecordZone.ID) -> Asset? {
        open(receipt, for: user, in: zone)?.asset
    }

    /// The assets of receipts whose content the caller may have from any node: assets that it
    /// uploaded, and all assets of its own database.
    ///
    /// An asset that the caller once read in a record of others may be unreadable to it now, so
    /// there the saving node must have the asset and decide.
    func heldAnywhere(
        _ receipts: [String],
        by user: String,
        in zone: RecordZone.ID
    ) -> [Asset] {
        let held = receipts.compactMap { open($0, for: user, in: zone) }
        return held.filter { $0.isUpload || access.database == .private }.map(\.asset)
    }

    private func open(
        _ receipt: String,
        for user: String,
        in zone: RecordZone.ID
    ) -> UploadReceipt? {
        guard let sealed = Base64URL.decode(receipt.utf8),
            let content = door.open(sealed),
            let receipt = try? UploadReceipt(content: content),
            receipt.isGood(
                in: access.scope,
                access.database,
                of: owner(of: zone),
                for: user,
                now: door.now
            )
        else { return nil }
        return receipt
    }

    /// The value of a field that holds an asset, as requests take it.
    ///
    /// - Parameters:
    ///   - zone: The zone of the records that may name it; nil means the default zone.
    ///   - isUpload: Whether the user brought its content.
    func json(
        _ asset: Asset,
        for user: String,
        in zone: RecordZone.ID?,
        isUpload: Bool
    ) -> JSON {
        let receipt = receipt(of: asset, for: user, in: zone, isUpload: isUpload)
        return [
            "fileChecksum": .string(Base64.encode(asset.digest)),
            "size": .integer(Int64(clamping: asset.size)),
            "receipt": .string(receipt),
        ]
    }
}

extension WebRequest {
    /// The URL under which the caller reached this node, up to the path that is the node's own.
    ///
    /// A proxy says by `X-Forwarded-Proto` how it was called; of several the first one is nearest
    /// to the caller.
    var base: String {
        let prefix = target.prefix(
            upTo: WebRoute.signedPath(target)?.startIndex ?? target.startIndex
        )
        guard let host = headers["host"], !host.isEmpty else { return String(prefix) }
        let forwarded = headers["x-forwarded-proto"]
        let isHTTPS = forwarded.map { $0.prefix { $0 != "," } == "https" } ?? isEncrypted
        return "\(isHTTPS ? "https" : "http")://\(host)\(prefix)"
    }
}
