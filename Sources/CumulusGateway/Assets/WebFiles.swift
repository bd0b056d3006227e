// Files that another node took: fetched from there, for records that are saved here.
//
// Called by records/modify for assets that a receipt stands for and that this node has not got.
// What peers send is announced and sent to this node as their caller would send it: so its rights,
// its space and what it may name are judged as those of an upload.

import CumulusAssets
import CumulusModel
import CumulusWire

struct WebFiles {
    private let calls: WebAssetCalls
    private let door: any WebDoor
    private let scope: ScopeID
    private let database: DatabaseID
    /// How often peers are asked for what is still missing.
    private static let rounds = 3

    /// - Parameter zone: Of the records that name the files.
    init(_ calls: any WebCalls, _ links: WebLinks, in zone: RecordZone.ID) {
        let kind = links.access.database
        self.calls = WebAssetCalls(calls, kind, zone)
        door = links.door
        scope = links.access.scope
        database =
            switch kind {
            case .public: .public
            case .private: DatabaseID(kind: .private, owner: calls.user)
            // What is shared is of its owner's database.
            case .shared: DatabaseID(kind: .private, owner: zone.ownerName)
            }
    }

    /// Returns when the node has the whole of an asset; what came stays if it throws.
    func fetch(_ asset: Asset) async throws {
        let list = try await door.peerList(of: asset.digest, in: database, of: scope)
        for _ in 0..<WebFiles.rounds {
            let missing = try await calls.missing(of: list)
            if missing.isEmpty { return }
            try await door.readPeerChunks(missing, of: asset.digest, in: database, of: scope) {
                if $0.isEmpty { return }
                try await calls.upload([WireChunks($0).encoded().bytes])
            }
        }
        guard try await calls.missing(of: list).isEmpty else { throw WebFiles.incomplete }
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

extension Record {
    /// The assets of all its fields.
    var assets: [Asset] {
        allKeys().flatMap { key -> [Asset] in
            switch self[key] {
            case .asset(let asset): [asset]
            case .list(let values):
                values.compactMap { if case .asset(let asset) = $0 { asset } else { nil } }
            default: []
            }
        }
    }
}
