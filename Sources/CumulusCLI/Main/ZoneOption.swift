// The zone that a command is about, and its owner: groups of options.

import ArgumentParser
import CumulusModel

/// The owner of the zone, for commands that also work in the shared database.
struct OwnerOption: ParsableArguments {
    @Option(help: "With --database shared: user record name of the zone's owner.")
    var owner: String?

    func zoneID(_ name: String) -> RecordZone.ID {
        RecordZone.ID(zoneName: name, ownerName: owner ?? RecordZone.ID.currentUserName)
    }
}

/// The zone, for commands on records.
struct ZoneOption: ParsableArguments {
    @Option(help: "Zone of the records.")
    var zone = RecordZone.ID.default.zoneName
    @OptionGroup var owner: OwnerOption

    var zoneID: RecordZone.ID { owner.zoneID(zone) }
}
