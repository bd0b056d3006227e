// Requests of one field, which many calls share, and the identifiers in all others.
//
// Called by the other files, and by the node.

import CCumulusWire
package import CumulusModel
package import CumulusWire

extension BytesRequest {
    /// Reads it as a `CreateContainerRequest`, whose form all of them have.
    package init(wire bytes: Bytes) throws(MalformedMessage) {
        let message = try CMessage(bytes[...], cumulus__v1__create_container_request__unpack)
        self.init(message.raw.container.swiftBytes)
    }
}

extension FlagRequest {
    /// Reads it as a `DeploySchemaRequest`, whose form all of them have.
    package init(wire bytes: Bytes) throws(MalformedMessage) {
        let message = try CMessage(bytes[...], cumulus__v1__deploy_schema_request__unpack)
        self.init(message.raw.only_shows != 0)
    }
}

// MARK: - Parts

extension WireZoneID {
    init(wire raw: Cumulus__V1__ZoneID) {
        self.init(name: raw.name.swiftBytes, owner: raw.owner.swiftBytes)
    }
}

extension WireRecordID {
    init(wire raw: Cumulus__V1__RecordID) {
        self.init(
            name: raw.name.swiftBytes,
            zone: raw.zone.map { WireZoneID(wire: $0.pointee) }
        )
    }
}

extension WireHandle {
    init(wire raw: Cumulus__V1__Handle) {
        self.init(
            kind: UInt32(raw.kind.rawValue),
            value: raw.value.swiftBytes,
            verifiedBy: raw.verified_by.swiftText
        )
    }
}

extension Location {
    init(wire raw: Cumulus__V1__Location) {
        self.init(latitude: raw.latitude, longitude: raw.longitude)
        if raw.has_altitude_case.rawValue != 0 { altitude = raw.altitude }
        if raw.has_horizontal_accuracy_case.rawValue != 0 {
            horizontalAccuracy = raw.horizontal_accuracy
        }
        if raw.has_vertical_accuracy_case.rawValue != 0 { verticalAccuracy = raw.vertical_accuracy }
        if raw.has_course_case.rawValue != 0 { course = raw.course }
        if raw.has_speed_case.rawValue != 0 { speed = raw.speed }
        if raw.has_timestamp_case.rawValue != 0 {
            timestamp = Timestamp(millisecondsSince1970: raw.timestamp)
        }
    }
}

/// The fields that are wanted; nil means all.
func keys(
    _ isChoice: protobuf_c_boolean,
    _ count: Int,
    _ start: UnsafeMutablePointer<ProtobufCBinaryData>?
) -> [Bytes]? {
    isChoice == 0 ? nil : elements(count, start).map(\.swiftBytes)
}
