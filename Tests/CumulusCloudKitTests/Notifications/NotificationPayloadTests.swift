// Notifications from the dictionaries of pushes: observed ones, ours, and dictionaries that are not
// CloudKit's.

import CumulusModel
import Foundation
import Testing

@testable import CumulusCloudKit

@Suite struct NotificationPayloadTests {
    private func notification(_ dictionary: [AnyHashable: Any]) -> CKNotification? {
        CKNotification(fromRemoteNotificationDictionary: dictionary)
    }

    @Test func aPushAsItWasSeenIsRead() throws {
        let push: [AnyHashable: Any] = [
            "aps": ["alert": ["body": "Hi"], "badge": 3, "sound": "default"],
            "ck": [
                "ce": 2, "cid": "iCloud.x", "nid": "n", "ckuserid": "_u", "p": 1,
                "qry": [
                    "dbs": 1, "fo": 2, "rid": "r", "sid": "s", "zid": "_defaultZone",
                    "zoid": "_o", "af": ["title": "Sun"],
                ],
            ],
        ]
        let query = try #require(notification(push) as? CKQueryNotification)
        #expect(query.notificationType == .query && query.queryNotificationReason == .recordUpdated)
        #expect(query.recordID?.recordName == "r" && query.recordID?.zoneID.ownerName == "_o")
        #expect(query.recordFields?["title"] as? String == "Sun" && query.isPruned)
        #expect(query.databaseScope == .public && query.subscriptionID == "s")
        #expect(query.alertBody == "Hi" && query.badge == 3 && query.soundName == "default")
        #expect(query.subscriptionOwnerUserRecordID?.recordName == "_u")
        #expect(CKQueryNotification(fromRemoteNotificationDictionary: push) != nil)
        #expect(CKDatabaseNotification(fromRemoteNotificationDictionary: push) == nil)
    }

    @Test func otherDictionariesGiveNothing() {
        #expect(notification([:]) == nil && notification(["aps": ["alert": "Hi"]]) == nil)
        #expect(notification(["ck": ["ce": 2]]) == nil && notification(["ck": 1]) == nil)
        #expect(notification(["ck": ["fet": ["dbs": 2]]]) == nil)
    }

    @Test func everyPartComesThroughADictionary() throws {
        var info = Subscription.NotificationInfo()
        // The others are not for apps.
        for part in Subscription.NotificationInfo.texts.dropLast(2) {
            info[keyPath: part.path] = part.name
        }
        for part in Subscription.NotificationInfo.lists where part.name != "desiredKeys" {
            info[keyPath: part.path] = [part.name]
        }
        info.shouldSendContentAvailable = true
        info.shouldSendMutableContent = true
        let zone = CKRecordZone.ID(zoneName: "Trips", ownerName: "_o")
        var payload = NotificationPayload(.zone(zone), in: .shared, of: "s")
        payload.info = info
        payload.badge = 2
        payload.id = "n"
        payload.isRead = true
        let again = try #require(NotificationPayload(dictionary: payload.dictionary))
        #expect(again.info == info && again.badge == 2 && again.scope == .shared)
        let shown = CKNotification.notification(again)
        #expect((shown as? CKRecordZoneNotification)?.recordZoneID == zone)
        #expect(shown.notificationType == .readNotification && shown.title == "title")

        // As apps cast what a push service delivers.
        let objects = try #require(payload.dictionary as? [String: NSObject])
        let cast = CKNotification(fromRemoteNotificationDictionary: objects)
        #expect((cast as? CKRecordZoneNotification)?.recordZoneID == zone)

        let silent = NotificationPayload(.database, in: .private, of: nil).dictionary
        let aps = silent["aps"] as? [AnyHashable: Any]
        #expect(aps?["content-available"] as? Int == 1 && aps?.count == 1)
        #expect(notification(silent) is CKDatabaseNotification)
    }

    @Test func whatShowsAndCarriesIsKept() {
        var info = Subscription.NotificationInfo()
        for part in Subscription.NotificationInfo.texts { info[keyPath: part.path] = part.name }
        for part in Subscription.NotificationInfo.lists { info[keyPath: part.path] = [part.name] }
        for part in Subscription.NotificationInfo.flags { info[keyPath: part.path] = true }
        let object = CKSubscription.NotificationInfo(info)
        #expect(object.model == info && object.category == "category" && object.shouldBadge)
        #expect((object.copy() as? CKNotificationInfo)?.model == info)
    }
}
