def mean_pay(block):
    pay = block['pay'].to_numpy()
    return pay.sum() / max(len(pay), 1)


def ends(block):
    pay = block['pay'].to_numpy()
    return [pay.min(), pay.max()]
