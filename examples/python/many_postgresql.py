# SPDX-License-Identifier: Apache-2.0
"""many_postgresql.py CONNINFO: many messages in one statement."""
import json
import sys

import psycopg

db = psycopg.connect(sys.argv[1])
# [many
orders = [17, 18, 19]
with db.transaction():
    db.execute("select pillarbox.enqueue_many(%s::text[], %s::text[], ordering_keys => %s::text[])",
               (["order.placed.v1"] * len(orders),
                [json.dumps({"order_id": order}) for order in orders],
                [f"order-{order}" for order in orders]))
# many]
