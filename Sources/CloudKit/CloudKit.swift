// `import CloudKit` on Linux: all of CumulusCloudKit.
//
// Nothing else is in this module, so that apps written for CloudKit need no other import.

@_exported public import CumulusCloudKit
