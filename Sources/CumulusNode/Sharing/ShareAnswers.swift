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
        let share = metadata.share
        return WireShareMetadata.answer(
            share: Answers.share(share, zone, urls),
            rootRecord: metadata.rootRecord.map { $0.encoded(as: wireID($0.name, zone)) },
            role: metadata.role,
            permission: metadata.permission,
            status: metadata.status
        )
    }
}

extension LocatedZone {
    /// As its caller names it: in the shared database with its owner.
    var wireID: WireZoneID {
        let owner = rights.view == nil ? "" : zone.database.owner
        return WireZoneID(name: Bytes(zone.name.utf8), owner: Bytes(owner.utf8))
    }
}
