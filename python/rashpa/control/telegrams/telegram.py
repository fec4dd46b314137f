# SPDX-License-Identifier: Apache-2.0
"""Defines the telegrams as frozen dataclasses; `telegram_xml` converts them to XML and back (schema/telegram.xsd).

A class is an element, and a field of a plain type is an attribute of the same name. A tuple of numbers or names is a list in one attribute. A field
that holds a telegram part is a child element (absent when None), and a tuple of parts is a sequence of child elements. Parts with a model in the run
file use that model (`PART`): kernels, sinks, options of a link; `part_xml` makes elements of them.

Import all names from this module, whichever file defines them.
"""

from rashpa.control.telegrams.telegram_capabilities import (
    Capabilities,
    GetCapabilities,
    Interface,
    Link,
    Throughput,
    Unit,
    UnitDevice,
)
from rashpa.control.telegrams.telegram_orders import (
    Abort,
    Arm,
    Claim,
    Configure,
    Configured,
    Feed,
    GetStatus,
    HoldDeadlines,
    Join,
    Order,
    Orphaned,
    Pause,
    Resend,
    Reset,
    Resume,
    SetLimits,
    Start,
    Stop,
    Trigger,
)
from rashpa.control.telegrams.telegram_plan import (
    KEYS,
    PART,
    BadRegion,
    Buffer,
    Calibration,
    Card,
    Dataset,
    DeadModule,
    Destination,
    DestinationDtp,
    DtpEnd,
    Endpoint,
    Faults,
    Feedback,
    Group,
    GroupMember,
    Neighbour,
    Parameter,
    Placement,
    Reduction,
    Source,
    SourceDtp,
    SpecialValue,
)
from rashpa.control.telegrams.telegram_status import (
    Books,
    BufferStatus,
    ConsumerStatus,
    Count,
    DestinationDtpStatus,
    DestinationStatus,
    Fault,
    FeedbackStatus,
    FirstErrored,
    GroupStatus,
    Latency,
    LimitChange,
    MemberStatus,
    Notify,
    SinkStatus,
    SourceDtpStatus,
    SourceStatus,
    Status,
    count_of,
)

VERSION = 2
NAMESPACE = "urn:rashpa:telegram:2"

Telegram = (
    GetCapabilities
    | Capabilities
    | Claim
    | Configure
    | Configured
    | Arm
    | Start
    | Pause
    | Resume
    | Stop
    | Join
    | Resend
    | Feed
    | HoldDeadlines
    | SetLimits
    | Abort
    | Reset
    | Trigger
    | GetStatus
    | Status
    | Notify
    | Fault
)

__all__ = [
    "KEYS",
    "NAMESPACE",
    "PART",
    "VERSION",
    "Abort",
    "Arm",
    "BadRegion",
    "Books",
    "Buffer",
    "BufferStatus",
    "Calibration",
    "Capabilities",
    "Card",
    "Claim",
    "Configure",
    "Configured",
    "ConsumerStatus",
    "Count",
    "Dataset",
    "DeadModule",
    "Destination",
    "DestinationDtp",
    "DestinationDtpStatus",
    "DestinationStatus",
    "DtpEnd",
    "Endpoint",
    "Fault",
    "Faults",
    "Feed",
    "Feedback",
    "FeedbackStatus",
    "FirstErrored",
    "GetCapabilities",
    "GetStatus",
    "Group",
    "GroupMember",
    "GroupStatus",
    "HoldDeadlines",
    "Interface",
    "Join",
    "Latency",
    "LimitChange",
    "Link",
    "MemberStatus",
    "Neighbour",
    "Notify",
    "Order",
    "Orphaned",
    "Parameter",
    "Pause",
    "Placement",
    "Reduction",
    "Resend",
    "Reset",
    "Resume",
    "SetLimits",
    "SinkStatus",
    "Source",
    "SourceDtp",
    "SourceDtpStatus",
    "SourceStatus",
    "SpecialValue",
    "Start",
    "Status",
    "Stop",
    "Telegram",
    "Throughput",
    "Trigger",
    "Unit",
    "UnitDevice",
    "count_of",
]
