// Shows a share, its participants, and the target of a URL.

import Cumulus
import CumulusModel
import CumulusSystem
import CumulusTerminal
import CumulusTransfer

extension OutputOptions {
    func show(_ share: Share) throws {
        try show(share.json, rows: share.rows)
    }

    func show(_ metadata: Share.Metadata) throws {
        var members: [JSON.Member] = [
            JSON.Member("participantRole", .string("\(metadata.participantRole)")),
            JSON.Member("participantPermission", .string("\(metadata.participantPermission)")),
            JSON.Member("participantStatus", .string("\(metadata.participantStatus)")),
            JSON.Member("share", metadata.share.json),
        ]
        if let root = metadata.rootRecord { members.append(JSON.Member("rootRecord", root.json)) }
        let rows = [
            ["role", "\(metadata.participantRole)"],
            ["permission", "\(metadata.participantPermission)"],
            ["status", "\(metadata.participantStatus)"],
        ]
        try show(
            .object(members),
            rows: metadata.share.rows + rows + (metadata.rootRecord?.rows ?? [])
        )
    }
}

extension Share {
    var json: JSON {
        var members = [
            JSON.Member("recordName", .string(recordID.recordName)),
            JSON.Member("zoneName", .string(recordID.zoneID.zoneName)),
        ]
        func add(_ key: String, _ text: String?) {
            if let text { members.append(JSON.Member(key, .string(text))) }
        }
        add("ownerName", ownerName)
        add("root", rootRecordID?.recordName)
        add("title", title)
        add("url", url?.absoluteString)
        add("publicPermission", "\(publicPermission)")
        let people = participants.map { JSON.object($0.members) }
        return .object(members + [JSON.Member("participants", .array(people))])
    }

    /// The columns of a table: zone, owner, root, public permission, number of participants, title,
    /// URL.
    var row: [String] {
        [
            recordID.zoneID.zoneName, ownerName ?? "", rootRecordID?.recordName ?? "",
            "\(publicPermission)", "\(participants.count)", title ?? "", url?.absoluteString ?? "",
        ]
    }

    /// The form for people: a name and a value per line, and a line per participant.
    var rows: [[String]] {
        var rows = [["zone", recordID.zoneID.zoneName]]
        func add(_ name: String, _ value: String?) {
            if let value { rows.append([name, value]) }
        }
        add("owner", ownerName)
        add("root", rootRecordID?.recordName)
        add("title", title)
        add("url", url?.absoluteString)
        add("public", "\(publicPermission)")
        return rows + participants.map { ["participant", $0.line] }
    }

    private var ownerName: String? { owner?.userRecordID?.recordName }
}

extension Share.Participant {
    fileprivate var members: [JSON.Member] {
        var members: [JSON.Member] = []
        func add(_ key: String, _ text: String?) {
            if let text { members.append(JSON.Member(key, .string(text))) }
        }
        add("userRecordName", userRecordID?.recordName)
        add("handle", handle)
        add("role", "\(role)")
        add("permission", "\(permission)")
        add("status", "\(acceptanceStatus)")
        add("added", dateAddedToShare?.text)
        return members + [JSON.Member("isCurrentUser", .bool(isCurrentUser))]
    }

    /// The form for people: the participant, and its permission.
    fileprivate var line: String {
        let who = [handle, userRecordID?.recordName].compactMap(\.self).joined(separator: " ")
        let you = isCurrentUser ? ", you" : ""
        return "\(who) (\(role), \(permission), \(acceptanceStatus)\(you))"
    }

    private var handle: String? {
        switch lookupInfo {
        case .emailAddress(let text)?, .phoneNumber(let text)?: text
        case .userRecordID?, nil: nil
        }
    }
}
