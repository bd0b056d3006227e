// Requests on assets, feeds, shares and the profiles of users.
//
// `assets.proto`, `feeds.proto`, `sharing.proto` and `accounts.proto`.

import CCumulusWire
package import CumulusModel
package import CumulusWire

// MARK: - Assets

extension PrepareAssetsRequest {
    package init(wire bytes: Bytes) throws(MalformedMessage) {
        let message = try CMessage(bytes[...], cumulus__v1__prepare_assets_request__unpack)
        self.init()
        database = UInt32(message.raw.database.rawValue)
        lists = elements(message.raw.n_lists, message.raw.lists).map(\.swiftBytes)
        zone = message.raw.zone.map { WireZoneID(wire: $0.pointee) }
    }
}

extension UploadChunksRequest {
    package init(wire bytes: Bytes) throws(MalformedMessage) {
        let message = try CMessage(bytes[...], cumulus__v1__upload_chunks_request__unpack)
        self.init()
        database = UInt32(message.raw.database.rawValue)
        zone = message.raw.zone.map { WireZoneID(wire: $0.pointee) }
    }
}

extension DownloadAssetRequest {
    package init(wire bytes: Bytes) throws(MalformedMessage) {
        let message = try CMessage(bytes[...], cumulus__v1__download_asset_request__unpack)
        let raw = message.raw
        self.init()
        database = UInt32(raw.database.rawValue)
        asset = raw.asset.swiftBytes
        offset = raw.offset
        length = raw.length
        onlyList = raw.only_list != 0
        except = elements(raw.n_except, raw.except).map(\.swiftBytes)
        record = raw.record.map { WireRecordID(wire: $0.pointee) }
        field = raw.field.swiftBytes
    }
}

// MARK: - Feeds

extension FollowFeedRequest {
    package init(wire bytes: Bytes) throws(MalformedMessage) {
        let message = try CMessage(bytes[...], cumulus__v1__follow_feed_request__unpack)
        self.init()
        token = message.raw.token.swiftBytes
        untilCheckpoint = message.raw.until_checkpoint != 0
        isHistory = message.raw.history != 0
    }
}

extension MarkReadRequest {
    package init(wire bytes: Bytes) throws(MalformedMessage) {
        let message = try CMessage(bytes[...], cumulus__v1__mark_read_request__unpack)
        self.init()
        ids = elements(message.raw.n_ids, message.raw.ids).map(\.swiftBytes)
        token = message.raw.token.swiftBytes
    }
}

// MARK: - Shares

extension ShareMetadataRequest {
    package init(wire bytes: Bytes) throws(MalformedMessage) {
        let message = try CMessage(bytes[...], cumulus__v1__share_metadata_request__unpack)
        let raw = message.raw
        self.init()
        url = raw.url.swiftBytes
        wantsRootRecord = raw.wants_root_record != 0
        keys = CumulusRequests.keys(raw.only_keys, raw.n_keys, raw.keys)
    }
}

extension LookUpParticipantsRequest {
    package init(wire bytes: Bytes) throws(MalformedMessage) {
        let message = try CMessage(bytes[...], cumulus__v1__look_up_participants_request__unpack)
        self.init()
        handles = elements(message.raw.n_handles, message.raw.handles).map(WireHandle.init(wire:))
    }
}

extension StopShareRequest {
    package init(wire bytes: Bytes) throws(MalformedMessage) {
        let message = try CMessage(bytes[...], cumulus__v1__stop_share_request__unpack)
        self.init()
        user = message.raw.user.swiftBytes
        zone = message.raw.zone.swiftBytes
        share = message.raw.share.swiftBytes
    }
}

// MARK: - Profiles

extension SetProfileRequest {
    package init(wire bytes: Bytes) throws(MalformedMessage) {
        let message = try CMessage(bytes[...], cumulus__v1__set_profile_request__unpack)
        self.init()
        user = message.raw.user.swiftBytes
        displayName = message.raw.display_name.swiftBytes
        isDiscoverable = message.raw.is_discoverable != 0
    }
}

extension DiscoverRequest {
    package init(wire bytes: Bytes) throws(MalformedMessage) {
        let message = try CMessage(bytes[...], cumulus__v1__discover_request__unpack)
        self.init()
        handles = elements(message.raw.n_handles, message.raw.handles).map(WireHandle.init(wire:))
        users = elements(message.raw.n_users, message.raw.users).map(\.swiftBytes)
    }
}

extension SetHandleRequest {
    package init(wire bytes: Bytes) throws(MalformedMessage) {
        let message = try CMessage(bytes[...], cumulus__v1__set_handle_request__unpack)
        self.init()
        user = message.raw.user.swiftBytes
        if let raw = message.raw.handle?.pointee { handle = WireHandle(wire: raw) }
        isHeld = message.raw.is_held != 0
    }
}
