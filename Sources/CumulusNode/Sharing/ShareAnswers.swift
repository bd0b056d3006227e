// Answers about a share, and about the zones that others share with the caller.
//
// Called by `ShareCalls` and by `Answers`.

import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusWire

extension Answers {
    /// An encoded record.
    static func share(_ share: RecordView, _ zone: ZoneAddress, _ urls: ShareURLs) -> Bytes {
        share.encoded(as: wireID(share.name, zone), url: urls.url(of: share))
    }

    static func metadata(_ metadata: ShareMetadata, _ urls: ShareURLs) -> Bytes {
        let zone = metadata.zone
        var answer = ShareMetadataResponse()
        answer.metadata.share = .encoded(share(metadata.share, zone, urls))
        answer.metadata.rootRecord = metadata.rootRecord.map {
            .encoded($0.encoded(as: wireID($0.name, zone)))
        }
        answer.metadata.role = metadata.role
        answer.metadata.permission = metadata.permission
        answer.metadata.status = metadata.status
        return answer.encoded()
    }
}

extension LocatedZone {
    /// As its caller names it: in the shared database with its owner.
    var wireID: WireZoneID {
        let owner = rights.view == nil ? "" : zone.database.owner
        return WireZoneID(name: Bytes(zone.name.utf8), owner: Bytes(owner.utf8))
    }
}
