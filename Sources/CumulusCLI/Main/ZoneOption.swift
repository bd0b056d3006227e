// Which zone a command is about, and whose it is: groups of options.

import ArgumentParser
import CumulusModel

/// Whose zone, for commands that work in the shared database too.
struct OwnerOption: ParsableArguments {
    @Option(help: "With --database shared: user record name of the zone's owner.")
    var owner: String?

    func zoneID(_ name: String) -> RecordZone.ID {
        RecordZone.ID(zoneName: name, ownerName: owner ?? RecordZone.ID.currentUserName)
    }
}

/// Which zone, for commands on records.
struct ZoneOption: ParsableArguments {
    @Option(help: "Zone of the records.")
    var zone = RecordZone.ID.default.zoneName
    @OptionGroup var owner: OwnerOption

    var zoneID: RecordZone.ID { owner.zoneID(zone) }
}
