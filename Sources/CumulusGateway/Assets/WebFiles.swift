// Files that another node took: fetched from there, for records that are saved here.
//
// records/modify calls it for assets of receipts that this node has not got. Chunks from peers are
// announced and sent to this node as their caller would send them, so rights, space and names are
// checked as for an upload. One request asks peers for a bounded time. Received chunks stay, so a
// repeated request continues there.

import CumulusAssets
import CumulusModel
import CumulusNode
import CumulusWire

struct WebFiles {
    private let calls: WebAssetCalls
    private let door: any WebDoor
    private let scope: ScopeID
    private let database: DatabaseID
    /// The time at which peers are no longer asked, by the door's nanoseconds.
    private let end: UInt64
    /// How often peers are asked for what is still missing.
    private static let rounds = 3
    /// How long one request asks peers, in milliseconds.
    static let milliseconds: UInt64 = 20_000

    /// - Parameters:
    ///   - zone: The zone of the records that name the files.
    ///   - end: When peers are asked no more, by the door's nanoseconds.
    init(_ calls: any WebCalls, _ links: WebLinks, in zone: RecordZone.ID, until end: UInt64) {
        let kind = links.access.database
        self.calls = WebAssetCalls(calls, kind, zone)
        self.end = end
        door = links.door
        scope = links.access.scope
        database =
            switch kind {
            case .public: .public
            case .private: DatabaseID(kind: .private, owner: calls.user)
            // Shared records belong to their owner's database.
            case .shared: DatabaseID(kind: .private, owner: zone.ownerName)
            }
    }

    /// Returns when the node has the whole of an asset; what came stays if it throws.
    func fetch(_ asset: Asset) async throws {
        let address = PeerAssetAddress(asset: asset.digest, database: database, scope: scope)
        let list = try await door.peerList(of: address, within: try milliseconds())
        for _ in 0..<WebFiles.rounds {
            let missing = try await calls.missing(of: list)
            if missing.isEmpty { return }
            try await door.readPeerChunks(missing, of: address, within: try milliseconds()) {
                if $0.isEmpty { return }
                try await calls.upload([WireChunks($0).encoded()])
            }
        }
        guard try await calls.missing(of: list).isEmpty else { throw WebFiles.incomplete }
    }

    /// How long peers may be asked from now on; throws if that is over.
    private func milliseconds() throws(ServiceError) -> Int64 {
        let now = door.nanoseconds()
        guard now < end else { throw WebFiles.incomplete }
        return Int64((end - now) / 1_000_000) + 1
    }
}

extension WebFiles {
    private static let incomplete: ServiceError = {
        var error = ServiceError(
            .assetNotAvailable,
            .assetIncomplete,
            "another node has not sent all of the file yet; try again"
        )
        error.retryAfterMilliseconds = 1_000
        return error
    }()
}
